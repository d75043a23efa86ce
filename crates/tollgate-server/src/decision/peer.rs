//! Who is at the other end of a connection.

use std::net::SocketAddr;

/// The address at the other end of the connection, as an extension of its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer(pub SocketAddr);
