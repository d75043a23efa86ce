//! When requests are tried again, when not, and after how long.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![expect(clippy::panic, reason = "an answer that may not be fails its test with what it was")]

mod around;
mod headers;
#[cfg(feature = "reqwest")]
mod of_reqwest;
#[path = "../loopback/server.rs"]
mod server;
mod sockets;
mod table;
