//! Who is at the other end of the connection.

use std::net::{IpAddr, SocketAddr};

use http::Extensions;

/// The other end of the connection, as an extension of a request. Whoever accepts connections puts it there, unless the
/// layer is told to look elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer(pub SocketAddr);

/// Finds the other end of the connection in the extensions of a request.
pub(crate) type FindPeer = fn(&Extensions) -> Option<SocketAddr>;

/// The peer that was put there.
pub(crate) fn put(extensions: &Extensions) -> Option<SocketAddr> {
    extensions.get::<Peer>().map(|peer| peer.0)
}

/// The address that `find` finds.
pub(crate) fn address(find: FindPeer, extensions: &Extensions) -> Option<IpAddr> {
    find(extensions).map(|peer| peer.ip())
}
