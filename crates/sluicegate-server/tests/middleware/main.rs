//! The middleware with an engine of its own and the one that asks the decision API, side by side: both let the same
//! requests pass, and refuse the others with the same bytes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up should fail")]

mod side;
mod table;
mod unavailable;
