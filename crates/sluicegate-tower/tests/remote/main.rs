//! The layer that asks elsewhere: what is asked, what passes, what is finished, and what becomes of requests while
//! nobody answers.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod asked;
mod decider;
mod failing;
mod grpc;
mod passing;
mod permits;
