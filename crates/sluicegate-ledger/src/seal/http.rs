//! The requests that object storage is asked with: one connection for each, which is as many as an hour takes.

#[cfg(feature = "tls")]
#[path = "tls.rs"]
mod tls;

use std::error::Error;
use std::io;
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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long making a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long a request may take with its answer. Objects are some megabytes.
const REQUEST_MAX: Duration = Duration::from_secs(300);

/// Bytes in both directions.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Makes connections: TCP, and with the feature `tls` TLS with the certificates that the system trusts.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    #[cfg(feature = "tls")]
    tls: tls::ClientTls,
}

impl Connector {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: tls::ClientTls::new()?,
        })
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
        #[cfg(feature = "tls")]
        return Ok(Box::new(self.tls.connect(bare, stream).await?));
        #[cfg(not(feature = "tls"))]
        return Err(io::Error::other("this program was built without TLS: enable the feature `tls`"));
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
