//! When requests are tried again, when not, and after how long.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![expect(clippy::panic, reason = "an answer that may not be fails its test with what it was")]

mod budget;
mod deadline;
mod headers;
mod layer;
mod policy;
#[cfg(feature = "reqwest")]
mod reqwest_client;
#[cfg(feature = "reqwest-middleware")]
mod reqwest_middleware;
#[path = "../loopback/server.rs"]
mod server;
mod service_fn;
mod sockets;
