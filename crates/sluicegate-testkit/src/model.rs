//! The reference model: `docs/algorithms.md` as the plainest code that says the same.
//!
//! It shares nothing with the production code, has no cleverness to be wrong about, and counts in 128-bit integers
//! so that no instant, cost or amount can overflow. Durations that do not fit are reported as `u64::MAX`.
//!
//! Rules are taken as valid: amounts, limits, bursts, costs and windows are at least 1.

mod carry;
mod concurrency;
mod home;
mod meter;
mod overage;
mod past;
mod sliding_entries;
mod sliding_window;
#[cfg(test)]
mod tests;
mod token_bucket;
mod view;
mod window;

pub use home::Home;

/// One algorithm with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the page's own words")]
pub enum Rule {
    TokenBucket {
        amount: u64,
        window_s: u64,
        burst: u64,
    },
    FixedWindow {
        limit: u64,
        window_s: u64,
    },
    /// `calendar` stands for unit, zone and anchor: the same number is the same calendar.
    Calendar {
        limit: u64,
        calendar: u64,
    },
    SlidingWindow {
        limit: u64,
        window_s: u64,
    },
    SlidingBuckets {
        limit: u64,
        window_s: u64,
    },
    SlidingLog {
        limit: u64,
        window_s: u64,
    },
    Concurrency {
        limit: u64,
        lease_ns: u64,
    },
}

/// What a charge protects, in the order in which charges are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Axis {
    Rate,
    Concurrency,
    Quota,
    Conduct,
}

/// When a charge is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Due {
    Admission,
    Refusal,
}

/// What must remain at the charge at `place`, or nothing is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct Expects {
    pub place: usize,
    pub least: u64,
    pub most: u64,
}

/// What happens to what lies above a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Overage {
    Refused,
    Billed,
    /// Billed up to so much, and what lies above that is refused.
    BilledUpTo(u64),
}

/// What one request owes to one meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// Which meter: a limit's name and who shares it. A request charges each meter at most once.
    pub meter: u64,
    /// The rule as it stands now.
    pub rule: Rule,
    /// What it protects; the model expects charges in this order. Rates per fixed window keep no period before.
    pub axis: Axis,
    /// What happens to what lies above the limit. Means nothing but a refusal for token buckets and slots, and is
    /// counted for a bill only where there are periods: in fixed windows and calendars.
    pub overage: Overage,
    /// What is included before overage is billed, where the rule has another size for now; nothing: what the rule says.
    pub included: Option<u64>,
    /// The units owed. A concurrency rule takes one slot whatever this says.
    pub cost: u64,
    /// For a calendar: start and end of the period that `now` lies in, in nanoseconds.
    pub period: Option<(u64, u64)>,
    /// When it is due.
    pub due: Due,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Charge if every charge fits.
    Charge,
    /// Say what would become of it and change nothing.
    Peek,
    /// Charge what has happened already, fit or not. Only slots may refuse it.
    Force,
    /// The same for more of what was charged then, in nanoseconds.
    Correct {
        /// When.
        charged_at: u64,
    },
}

impl Mode {
    fn is_forced(self) -> bool {
        matches!(self, Mode::Force | Mode::Correct { .. })
    }
}

/// What a meter says after the call; `next` and `reset` in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the page's own words")]
pub struct Reading {
    pub used: u64,
    pub remaining: u64,
    pub next: u64,
    pub reset: u64,
    pub overage: u64,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every meter has room (and was charged, unless this was a peek).
    Admitted {
        /// By how much the overage grows, over all its charges.
        overage: u64,
    },
    /// Some meter has no room now.
    Refused {
        /// The first charge in order that refused.
        by: usize,
        /// The longest wait among all that refused, in nanoseconds.
        retry_after: u64,
    },
    /// Some cost is above its capacity.
    NeverFits {
        /// The first such charge in order.
        by: usize,
    },
    /// A meter does not say what was expected of it.
    Elsewhere {
        /// What remains there.
        remaining: u64,
    },
}

/// The outcome, and one reading per charge in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct Answer {
    pub outcome: Outcome,
    pub readings: Vec<Reading>,
}
