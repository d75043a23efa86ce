//! Calls of the decision API, against a server on loopback that answers well, badly, late, or not at all.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod batching;
mod calls;
mod decider;
#[path = "../loopback/server.rs"]
mod server;
