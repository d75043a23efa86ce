//! Opening a connection to another server: an upstream, or whoever verifies challenges.

use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsConnector, TlsStream};

use crate::listen::{Wire, provider};

/// Where to connect.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: Option<Tls>,
}

impl Address {
    /// Where this URL leads; nothing, if it names no host that can be called.
    pub(crate) fn of(uri: &Uri) -> Option<Self> {
        let authority = uri.authority()?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let (tls, port) = if uri.scheme() == Some(&Scheme::HTTPS) {
            let name = ServerName::try_from(host.clone()).ok()?;
            (Some(Tls { name, roots: None }), 443)
        } else {
            (None, 80)
        };
        Some(Self { port: authority.port_u16().unwrap_or(port), host, tls })
    }
}

/// Who has to answer there.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) name: ServerName<'static>,
    /// Which certificates are believed; nothing: those the system believes.
    pub(crate) roots: Option<Arc<RootCertStore>>,
}

/// Which protocols are offered to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offer {
    Http1,
    Http2,
}

/// What was agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Agreed {
    Http1,
    Http2,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum DialError {
    Io(io::Error),
    Late,
}

/// Connects within the time allowed.
pub(crate) async fn dial(
    address: &Address,
    offer: Offer,
    wait: Duration,
) -> Result<(Wire, Agreed), DialError> {
    match timeout(wait, connect(address, offer)).await {
        Ok(connected) => connected.map_err(DialError::Io),
        Err(_) => Err(DialError::Late),
    }
}

async fn connect(address: &Address, offer: Offer) -> io::Result<(Wire, Agreed)> {
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    // A request is written whole: nothing is gained by waiting for more.
    stream.set_nodelay(true)?;
    let Some(tls) = &address.tls else {
        // In the clear nobody asks: both ends know beforehand.
        let agreed = match offer {
            Offer::Http1 => Agreed::Http1,
            Offer::Http2 => Agreed::Http2,
        };
        return Ok((Wire::Plain(stream), agreed));
    };
    let config = config(tls.roots.as_ref(), offer)?;
    let stream = TlsConnector::from(config).connect(tls.name.clone(), stream).await?;
    let agreed = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Agreed::Http2,
        _ => Agreed::Http1,
    };
    Ok((Wire::Tls(Box::new(TlsStream::Client(stream))), agreed))
}

/// The certificates the system believes. Read once: that takes milliseconds.
static SYSTEM_ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(roots)
});

fn config(roots: Option<&Arc<RootCertStore>>, offer: Offer) -> io::Result<Arc<ClientConfig>> {
    let roots = Arc::clone(roots.unwrap_or(&SYSTEM_ROOTS));
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = match offer {
        Offer::Http1 => vec![b"http/1.1".to_vec()],
        Offer::Http2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(Arc::new(config))
}
