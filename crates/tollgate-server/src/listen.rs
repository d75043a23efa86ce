//! Listening: sockets, TLS, connections and their end. All listeners use it.
//!
//! It knows nothing about what is answered.

mod accept;
mod alarm;
mod answers;
mod bind;
mod clock;
mod connection;
mod ending;
mod peer;
mod proxy_protocol;
mod serve;
mod shutdown;
mod socket;
mod streams;
mod tls;
mod wire;

pub(crate) use accept::{Places, accept};
pub(crate) use alarm::Alarm;
pub use answers::Answers;
pub use bind::{BindError, Listener};
pub(crate) use ending::Ending;
pub use peer::{Peer, Scheme};
pub use proxy_protocol::ProxyGate;
pub use serve::{ServeSettings, serve};
pub(crate) use shutdown::Phase;
pub use shutdown::Shutdown;
pub use streams::StreamTasks;
pub(crate) use tls::provider;
pub use tls::{TlsCell, TlsError};
pub(crate) use wire::Wire;
