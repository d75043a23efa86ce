//! The requests that object storage is asked with: one connection for each, which is as many as an hour takes.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpService,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long making a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long a request may take with its answer. Objects are some megabytes.
const REQUEST_MAX: Duration = Duration::from_secs(300);

/// Bytes in both directions.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Makes connections: TCP, and TLS with the certificates that the system believes.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    tls: Arc<ClientConfig>,
}

impl Connector {
    pub(super) fn new() -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: Arc::new(tls) })
    }

    async fn wire(&self, uri: &Uri) -> io::Result<Box<dyn Wire>> {
        let host = uri.host().ok_or_else(|| io::Error::other("there is no host in the address"))?;
        let is_tls = uri.scheme() != Some(&Scheme::HTTP);
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let stream = TcpStream::connect((bare.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        if !is_tls {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(bare).map_err(io::Error::other)?;
        Ok(Box::new(TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await?))
    }

    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let request = origin_form(request)?;
        let (uri, request) = request;
        let wire = match timeout(CONNECT_MAX, self.wire(&uri)).await {
            Ok(wire) => wire.map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?,
            Err(late) => return Err(HttpError::new(HttpErrorKind::Connect, late)),
        };
        let handshake = http1::handshake(TokioIo::new(wire)).await;
        let (mut sender, connection) =
            handshake.map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
        // What becomes of the connection is told to whoever waits for the answer.
        let driver = tokio::spawn(async move { drop(connection.await) });
        let answer = async {
            let (parts, body) = sender.send_request(request).await?.into_parts();
            Ok((parts, body.collect().await?.to_bytes()))
        };
        let answer = timeout(REQUEST_MAX, answer).await;
        driver.abort();
        match answer {
            Ok(Ok((parts, bytes))) => Ok(HttpResponse::from_parts(parts, bytes.into())),
            Ok(Err(error)) => Err(broken(error)),
            Err(late) => Err(HttpError::new(HttpErrorKind::Timeout, late)),
        }
    }
}

/// The request as it is written to a connection, and where that goes.
fn origin_form(request: HttpRequest) -> Result<(Uri, Request<HttpRequestBody>), HttpError> {
    let (mut parts, body) = request.into_parts();
    let uri = std::mem::take(&mut parts.uri);
    let unsendable = |error| HttpError::new(HttpErrorKind::Unknown, error);
    if !parts.headers.contains_key(HOST) {
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let host = HeaderValue::from_str(host)
            .map_err(|_| unsendable(io::Error::other("a host that is no text")))?;
        parts.headers.insert(HOST, host);
    }
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    parts.uri = Uri::from(path);
    Ok((uri, Request::from_parts(parts, body)))
}

/// What kind of failure it is: a connection that broke may be tried again.
fn broken(error: hyper::Error) -> HttpError {
    let io = error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind);
    let kind = match io {
        Some(io::ErrorKind::TimedOut) => HttpErrorKind::Timeout,
        Some(_) => HttpErrorKind::Interrupted,
        None if error.is_closed() || error.is_incomplete_message() => HttpErrorKind::Request,
        None => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

#[async_trait::async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.ask(request).await
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}
