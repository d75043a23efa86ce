//! Who is at the other end of the connection.

use std::net::SocketAddr;

/// The other end of the connection, as an extension of a request. Whoever accepts connections puts it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer(pub SocketAddr);
