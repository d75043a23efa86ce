//! The gateway over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod bed;
mod forwarding;
