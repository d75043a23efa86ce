//! Who is at the other end of a connection: an extension of every request.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

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
    trust: Arc<ConnTrustCell>,
}

/// How the requests of a connection have fared so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum ConnTrust {
    /// The last one was refused.
    Refused,
    /// None was refused, and none showed a valid key.
    Unknown,
    /// One of them showed a valid key.
    Known,
}

/// The trust of one connection. It stays [`ConnTrust::Known`] once it was.
#[derive(Debug)]
pub struct ConnTrustCell(AtomicU8);

impl Default for ConnTrustCell {
    fn default() -> Self {
        Self(AtomicU8::new(ConnTrust::Unknown as u8))
    }
}

impl ConnTrustCell {
    /// How they have fared.
    pub fn get(&self) -> ConnTrust {
        match self.0.load(Relaxed) {
            0 => ConnTrust::Refused,
            1 => ConnTrust::Unknown,
            _ => ConnTrust::Known,
        }
    }

    /// How the last one has fared.
    pub fn set(&self, trust: ConnTrust) {
        if self.get() != trust && self.get() != ConnTrust::Known {
            self.0.store(trust as u8, Relaxed);
        }
    }
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
        Self::with_trust(address, scheme, shutdown, Arc::default())
    }

    /// The same, whose trust is seen by others too.
    pub fn with_trust(
        address: SocketAddr,
        scheme: Scheme,
        shutdown: Shutdown,
        trust: Arc<ConnTrustCell>,
    ) -> Self {
        let ip = address.ip().to_canonical().to_string();
        let forwarded_for = HeaderValue::from_str(&ip).unwrap_or(HeaderValue::from_static("unknown"));
        Self(Arc::new(Inner { address, scheme, forwarded_for, shutdown, trust }))
    }

    /// Its address: the one that the socket knows or its proxy has said before the first byte, whatever headers say.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// How the connection was made.
    pub fn scheme(&self) -> Scheme {
        self.0.scheme
    }

    /// How its requests have fared.
    pub fn trust(&self) -> &ConnTrustCell {
        &self.0.trust
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
