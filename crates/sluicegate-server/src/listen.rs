//! Listening: sockets, TLS, connections and their end. All listeners use it.
//!
//! It knows nothing about what is answered.

mod accept;
mod address;
mod alarm;
mod answers;
mod bind;
mod clock;
mod conn_table;
mod connection;
mod ending;
mod min_rate;
mod proxy_protocol;
mod reader;
mod reserve;
mod serve;
mod socket;
mod streams;
mod tls;

pub(crate) use accept::{Acceptor, accept};
pub(crate) use address::AddressPrefix;
pub(crate) use alarm::Alarm;
pub use answers::Answers;
pub use bind::{BindError, Listener};
pub use conn_table::open_connections;
pub(crate) use ending::Ending;
pub(crate) use min_rate::allowed_wait;
pub use proxy_protocol::ProxyGate;
pub use serve::{ServeSettings, serve};
pub(crate) use sluicegate_node::net::Wire;
pub(crate) use sluicegate_node::shutdown::Phase;
pub use sluicegate_node::{Peer, Scheme, Shutdown};
pub use streams::StreamTasks;
pub use tls::{TlsCell, TlsError};
