//! Who is at the other end of a connection: an extension of every request.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderValue;

use crate::shutdown::{Phase, Shutdown};

/// The other end of the connection that a request came over.
#[derive(Clone)]
pub struct Peer(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    scheme: Scheme,
    /// Written once for all requests of the connection.
    forwarded_for: HeaderValue,
    shutdown: Shutdown,
}

/// How the connection was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Under TLS.
    Https,
}

impl Scheme {
    /// As `X-Forwarded-Proto` has it.
    pub fn forwarded_proto(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

impl Peer {
    /// The other end of a connection that was accepted.
    pub fn new(address: SocketAddr, scheme: Scheme, shutdown: Shutdown) -> Self {
        let ip = address.ip().to_canonical().to_string();
        let forwarded_for = HeaderValue::from_str(&ip).unwrap_or(HeaderValue::from_static("unknown"));
        Self(Arc::new(Inner { address, scheme, forwarded_for, shutdown }))
    }

    /// Its address: the one that the socket knows or its proxy has said before the first byte, whatever headers say.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// How the connection was made.
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// Its address as `X-Forwarded-For` has it.
    pub fn forwarded_for(&self) -> &HeaderValue {
        &self.0.forwarded_for
    }

    /// Whether the listener has begun to end.
    pub fn is_draining(&self) -> bool {
        self.0.shutdown.phase() != Phase::Serving
    }

    /// Over once the listener has begun to end.
    pub async fn draining(&self) {
        self.0.shutdown.begun().await;
    }

    /// Over once the listener cuts its connections.
    pub async fn cut(&self) {
        self.0.shutdown.cut_off().await;
    }
}

/// Says nothing about the address, which must not get into a log.
impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("scheme", &self.0.scheme).finish_non_exhaustive()
    }
}
