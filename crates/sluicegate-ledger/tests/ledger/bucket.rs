//! A small server that speaks as S3 does where sealing needs it, and that fails as it is told.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What becomes of a request to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// It is done.
    None,
    /// The connection breaks before anything is kept.
    BreakBefore,
    /// It is kept, and the connection breaks before that is said.
    BreakAfter,
    /// 503, and nothing is kept.
    Unavailable,
}

/// What the server has, and what it will do.
#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) objects: Mutex<BTreeMap<String, Bytes>>,
    /// Of the next requests to write, in order.
    pub(crate) faults: Mutex<Vec<Fault>>,
    /// How often each object was written.
    pub(crate) written: Mutex<BTreeMap<String, u32>>,
}

impl Bucket {
    /// Serves on a port of this machine until the runtime ends.
    pub(crate) async fn serve(self: Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let bucket = Arc::clone(&self);
                let service = service_fn(move |request| Arc::clone(&bucket).answer(request));
                let serving = hyper::server::conn::http1::Builder::new();
                tokio::spawn(
                    async move { drop(serving.serve_connection(TokioIo::new(stream), service).await) },
                );
            }
        });
        address
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Broken> {
        let name = request.uri().path().to_owned();
        assert!(request.headers().contains_key("authorization"), "a request that is not signed");
        match *request.method() {
            Method::PUT => self.put(name, request).await,
            Method::GET => {
                let found = self.objects.lock().unwrap().get(&name).cloned();
                Ok(found.map_or_else(
                    || plain(StatusCode::NOT_FOUND, Bytes::new()),
                    |bytes| plain(StatusCode::OK, bytes),
                ))
            }
            _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED, Bytes::new())),
        }
    }

    async fn put(&self, name: String, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Broken> {
        let is_create = request.headers().get("if-none-match").is_some_and(|value| value == "*");
        let fault = self.faults.lock().unwrap().pop().unwrap_or(Fault::None);
        match fault {
            Fault::BreakBefore => return Err(Broken),
            Fault::Unavailable => return Ok(plain(StatusCode::SERVICE_UNAVAILABLE, Bytes::new())),
            Fault::None | Fault::BreakAfter => {}
        }
        let bytes = request.into_body().collect().await.map_err(|_| Broken)?.to_bytes();
        if is_create && self.objects.lock().unwrap().contains_key(&name) {
            return Ok(plain(StatusCode::PRECONDITION_FAILED, Bytes::new()));
        }
        self.objects.lock().unwrap().insert(name.clone(), bytes);
        *self.written.lock().unwrap().entry(name).or_default() += 1;
        if fault == Fault::BreakAfter { Err(Broken) } else { Ok(plain(StatusCode::OK, Bytes::new())) }
    }
}

/// The connection ends without an answer.
#[derive(Debug)]
pub(crate) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken")
    }
}

impl std::error::Error for Broken {}

impl From<Infallible> for Broken {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

fn plain(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("etag", "\"1\"");
    response.header("last-modified", "Mon, 21 Sep 2026 13:00:00 GMT").body(Full::new(body)).unwrap()
}
