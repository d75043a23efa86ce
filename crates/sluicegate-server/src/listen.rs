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
mod proxy_protocol;
mod serve;
mod socket;
mod streams;
mod tls;

pub(crate) use accept::{Places, accept};
pub(crate) use alarm::Alarm;
pub use answers::Answers;
pub use bind::{BindError, Listener};
pub(crate) use ending::Ending;
pub use proxy_protocol::ProxyGate;
pub use serve::{ServeSettings, serve};
pub(crate) use sluicegate_node::net::Wire;
pub(crate) use sluicegate_node::shutdown::Phase;
pub use sluicegate_node::{Peer, Scheme, Shutdown};
pub use streams::StreamTasks;
pub use tls::{TlsCell, TlsError};
