//! Who is at the other end of the connection.

use std::net::{IpAddr, SocketAddr};

use http::Extensions;

/// The other end of the connection, as an extension of a request. The server that accepts connections puts it there.
/// With the feature `axum`, the layers find axum's `ConnectInfo<SocketAddr>` as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer(pub SocketAddr);

/// Finds the other end of the connection in the extensions of a request.
pub(crate) type FindPeer = fn(&Extensions) -> Option<SocketAddr>;

/// The peer that the server put there.
pub(crate) fn put(extensions: &Extensions) -> Option<SocketAddr> {
    let peer = extensions.get::<Peer>().map(|peer| peer.0);
    #[cfg(feature = "axum")]
    let peer = peer
        .or_else(|| extensions.get::<axum::extract::ConnectInfo<SocketAddr>>().map(|connected| connected.0));
    peer
}

/// The address that `find` finds.
pub(crate) fn address(find: FindPeer, extensions: &Extensions) -> Option<IpAddr> {
    find(extensions).map(|peer| peer.ip())
}
