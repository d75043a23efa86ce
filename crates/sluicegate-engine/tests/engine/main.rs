//! The engine over real stores, with a clock that stands still: every answer, and what is left after a crash.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up should fail")]

mod abuse;
mod alerting;
mod alerting_shared;
mod answers;
mod audit;
mod books;
mod books_shared;
mod clock;
mod crash;
mod finish;
mod jwt;
mod key_limits;
mod lives;
mod overage;
mod overage_shared;
mod overload;
mod past_periods;
mod past_periods_shared;
mod permits;
mod permits_shared;
mod place;
mod pressure;
mod pressure_shared;
mod pulse;
mod rates;
mod rates_shared;
mod reload;
mod repeats;
mod shared_place;
mod sliding_log;
mod test_keys;
mod thresholds;
mod thresholds_shared;
mod throttle;
mod told;
mod told_shared;
mod vouched;
