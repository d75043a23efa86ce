//! The gateway over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod bed;
mod ending;
mod failing;
mod forwarding;
mod grpc;
mod hostile;
mod http2;
mod isolation;
mod listening;
mod maxima;
mod proxied;
mod retrying;
mod stalled;
mod streaming;
mod tls;
mod tunnels;
mod upgrading;
