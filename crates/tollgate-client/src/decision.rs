//! Asks Tollgate whether a request may pass: typed calls of its decision API.
//!
//! A check is sent once. One that has no answer is an error, never a guess; whether it was charged is then not known,
//! unless it is sent again with the same idempotency key.

mod answer;
mod batches;
mod check;
mod client;
mod error;
mod wire;

pub use answer::{Decision, Finished, LimitNow, Permit};
pub use check::{Caller, Check, Finish, Visitor};
pub use client::DecisionClient;
pub use error::{AddressError, CallError, Cause, Problem};

/// The most checks of a batch.
pub const BATCH_MAX: usize = 1_000;
