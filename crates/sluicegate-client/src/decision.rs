//! Typed calls of Sluicegate's decision API: is this request within its limits?
//!
//! A check is sent once. A call without a response is an error, never a guess. The check may have been charged; a
//! repetition with the same idempotency key is not charged twice.

mod batches;
mod check;
mod client;
mod error;
mod response;
mod transport;
mod wire;

pub use check::{Caller, Check, Finish, Visitor};
pub use client::DecisionClient;
pub use error::{AddressError, CallError, Cause, Problem};
pub use response::{Decision, Finished, LimitStatus, Permit, Renewed};

/// The most checks in one batch.
pub const BATCH_MAX: usize = 1_000;
