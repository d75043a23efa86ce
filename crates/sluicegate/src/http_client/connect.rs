//! The connection: TCP, and TLS with the certificates that the system believes.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::endpoint::{Endpoint, Scheme};

/// Bytes in both directions.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Opens one.
pub(super) async fn connect(endpoint: &Endpoint) -> io::Result<Box<dyn Wire>> {
    let stream = TcpStream::connect((endpoint.host(), endpoint.port())).await?;
    // A request is written whole: nothing is gained by waiting for more.
    stream.set_nodelay(true)?;
    match endpoint.scheme() {
        Scheme::Http => Ok(Box::new(stream)),
        Scheme::Https => {
            let name = ServerName::try_from(endpoint.host().to_owned()).map_err(io::Error::other)?;
            Ok(Box::new(TlsConnector::from(tls()?).connect(name, stream).await?))
        }
    }
}

fn tls() -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
