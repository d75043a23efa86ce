//! TLS towards other servers.

use std::io;
use std::sync::{Arc, LazyLock};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, TlsStream};

use super::dial::{Agreed, Offer};
use super::wire::Wire;

/// The server that has to answer.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The name in its certificate.
    pub name: ServerName<'static>,
    /// The certificates that are trusted. None: those that the system trusts.
    pub roots: Option<Arc<RootCertStore>>,
}

impl Tls {
    pub(super) fn of(host: &str) -> Option<Self> {
        Some(Self { name: ServerName::try_from(host.to_owned()).ok()?, roots: None })
    }

    pub(super) async fn connect(&self, stream: TcpStream, offer: Offer) -> io::Result<(Wire, Agreed)> {
        let config = config(self.roots.as_ref(), offer)?;
        let stream = TlsConnector::from(config).connect(self.name.clone(), stream).await?;
        let agreed = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => Agreed::Http2,
            _ => Agreed::Http1,
        };
        Ok((Wire::Tls(Box::new(TlsStream::Client(stream))), agreed))
    }
}

/// The provider that the process has installed, or with the feature `aws-lc` that one. A library never installs one
/// itself: that is the application's choice.
pub(crate) fn provider() -> io::Result<Arc<CryptoProvider>> {
    if let Some(installed) = CryptoProvider::get_default() {
        return Ok(Arc::clone(installed));
    }
    #[cfg(feature = "aws-lc")]
    return Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(not(feature = "aws-lc"))]
    return Err(io::Error::other(
        "rustls has no crypto provider: install one first, such as \
         rustls::crypto::ring::default_provider().install_default(), or enable the feature `aws-lc`",
    ));
}

/// The certificates that the system trusts. Read once: that takes milliseconds.
static SYSTEM_ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(roots)
});

fn config(roots: Option<&Arc<RootCertStore>>, offer: Offer) -> io::Result<Arc<ClientConfig>> {
    let roots = Arc::clone(roots.unwrap_or(&SYSTEM_ROOTS));
    let mut config = ClientConfig::builder_with_provider(provider()?)
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
