//! The proxy: each fault is there when it is set, and over when it is not.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod echo;
mod faults;
mod latency;
