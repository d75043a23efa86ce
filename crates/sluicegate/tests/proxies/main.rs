//! The proxies that people have, each started for real with its file from `examples/`, before an API and beside a real
//! server: what their callers see, and what the API is told.
//!
//! What holds for all of them stands in `expectations.rs`; a file for each proxy says how it is started and in what it
//! differs.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![expect(clippy::panic, reason = "an answer that may not be fails its test with what it was")]

#[path = "../serve/bed.rs"]
#[expect(dead_code, reason = "other tests do more with it")]
mod bed;
mod caddy;
mod docs;
mod echo;
mod envoy;
mod envoy_ratelimit;
mod expectations;
mod haproxy;
mod nginx;
mod place;
mod recipe;
mod traefik;
