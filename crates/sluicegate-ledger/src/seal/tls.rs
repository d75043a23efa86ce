//! TLS towards object storage.

use std::io;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Connects under TLS, with the certificates that the system trusts.
#[derive(Clone, Debug)]
pub(super) struct ClientTls(Arc<ClientConfig>);

impl ClientTls {
    pub(super) fn new() -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(provider()?)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    pub(super) async fn connect(&self, host: String, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await
    }
}

/// The provider that the process has installed, or with the feature `aws-lc` that one. A library never installs one
/// itself: that is the application's choice.
fn provider() -> io::Result<Arc<CryptoProvider>> {
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
