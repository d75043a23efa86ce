//! Opening a connection to another server.

use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use tokio::net::TcpStream;
use tokio::time::timeout;

#[cfg(feature = "tls")]
use super::tls::Tls;
use super::wire::Wire;

/// Where to connect.
#[derive(Clone, Debug)]
pub struct Address {
    /// The name or address of the host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How the connection is protected.
    pub security: Security,
}

/// How a connection is protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// Not at all.
    Plain,
    /// By TLS.
    #[cfg(feature = "tls")]
    Tls(Tls),
    /// By TLS, which this program was built without: connecting fails and says so.
    #[cfg(not(feature = "tls"))]
    NotBuilt,
}

impl Address {
    /// Where this URL leads; none if it names no host that can be called.
    pub fn of(uri: &Uri) -> Option<Self> {
        let authority = uri.authority()?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let (security, port) = match uri.scheme() == Some(&Scheme::HTTPS) {
            #[cfg(feature = "tls")]
            true => (Security::Tls(Tls::of(&host)?), 443),
            #[cfg(not(feature = "tls"))]
            true => (Security::NotBuilt, 443),
            false => (Security::Plain, 80),
        };
        Some(Self { port: authority.port_u16().unwrap_or(port), host, security })
    }
}

/// Which protocols are offered to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2, and HTTP/1.1 where that is not spoken.
    Http2,
}

/// What was agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreed {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum DialError {
    /// What the system, or TLS, says.
    Io(io::Error),
    /// It took too long.
    Late,
}

/// Connects within the time allowed.
pub async fn dial(address: &Address, offer: Offer, wait: Duration) -> Result<(Wire, Agreed), DialError> {
    match timeout(wait, connect(address, offer)).await {
        Ok(connected) => connected.map_err(DialError::Io),
        Err(_) => Err(DialError::Late),
    }
}

async fn connect(address: &Address, offer: Offer) -> io::Result<(Wire, Agreed)> {
    #[cfg(not(feature = "tls"))]
    if let Security::NotBuilt = address.security {
        return Err(io::Error::other("this program was built without TLS: enable the feature `tls`"));
    }
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    // A request is written whole: nothing is gained by waiting for more.
    stream.set_nodelay(true)?;
    match &address.security {
        #[cfg(feature = "tls")]
        Security::Tls(tls) => tls.connect(stream, offer).await,
        _ => {
            // Without TLS there is no negotiation: both ends know beforehand.
            let agreed = match offer {
                Offer::Http1 => Agreed::Http1,
                Offer::Http2 => Agreed::Http2,
            };
            Ok((Wire::Plain(stream), agreed))
        }
    }
}
