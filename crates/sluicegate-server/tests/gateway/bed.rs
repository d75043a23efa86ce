//! What the tests stand on: a gateway on a port of its own, upstreams that behave as told, callers that speak bytes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, Incoming};
use sluicegate_core::policy::{HttpUrl, ServerSettings};
use sluicegate_server::gateway::{
    Forward, ForwardSettings, Guard, GuardSettings, HttpTarget, UpstreamTarget,
};
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tower_service::Service;

/// Nothing in these tests takes this long unless it is stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(20);

/// A gateway that runs.
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: Shutdown,
    pub(crate) ended: JoinHandle<()>,
}

/// How a gateway is set up.
pub(crate) struct Setup {
    pub(crate) target: UpstreamTarget,
    pub(crate) forward: ForwardSettings,
    pub(crate) guard: GuardSettings,
    pub(crate) serve: ServeSettings,
}

impl Setup {
    pub(crate) fn to(target: UpstreamTarget) -> Self {
        let server = ServerSettings::default();
        Self {
            target,
            forward: ForwardSettings::new(&server),
            guard: GuardSettings::new(&server.max),
            serve: ServeSettings::new(&server, None),
        }
    }

    pub(crate) fn start(self) -> Gateway {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "--gateway").unwrap();
        let (address, shutdown) = (listener.local_addr(), Shutdown::new());
        let forward = Forward::new(Arc::new(self.target), self.forward);
        let service = Guard::new(forward, self.guard);
        let ended = tokio::spawn(serve(listener, self.serve, service, shutdown.clone()));
        Gateway { address, shutdown, ended }
    }
}

/// The server at this address, with what may follow it in a URL.
pub(crate) fn at(address: SocketAddr, rest: &str) -> UpstreamTarget {
    UpstreamTarget::Http(target(&format!("http://{address}{rest}")))
}

pub(crate) fn target(url: &str) -> HttpTarget {
    HttpTarget::new(&HttpUrl::parse(url).unwrap()).unwrap()
}

/// A gateway in front of this address.
pub(crate) fn gateway(upstream: SocketAddr) -> Gateway {
    Setup::to(at(upstream, "")).start()
}

/// An upstream that answers with this function.
pub(crate) fn upstream<F, A>(answer: F) -> SocketAddr
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<BoxBody<Bytes, std::io::Error>>> + Send + 'static,
{
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "").unwrap();
    let address = listener.local_addr();
    let mut settings = ServeSettings::new(&ServerSettings::default(), None);
    settings.headers_max = 1024 * 1024;
    tokio::spawn(serve(listener, settings, ResponseFuture(answer), Shutdown::new()));
    address
}

/// A service from a function.
#[derive(Clone)]
pub(crate) struct ResponseFuture<F>(pub(crate) F);

impl<F, A, B> Service<Request<Incoming>> for ResponseFuture<F>
where
    F: Fn(Request<Incoming>) -> A,
    A: Future<Output = Response<B>> + Send + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let answer = (self.0)(request);
        Box::pin(async move { Ok(answer.await) })
    }
}

/// A body of these bytes.
pub(crate) fn bytes(text: impl Into<Bytes>) -> BoxBody<Bytes, std::io::Error> {
    http_body_util::Full::new(text.into()).map_err(|never| match never {}).boxed()
}

/// An upstream that speaks bytes: every connection is handed to this function, with its number.
pub(crate) async fn raw_upstream<F, A>(serve: F) -> SocketAddr
where
    F: Fn(usize, TcpStream) -> A + Send + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(number, stream));
        }
    });
    address
}

/// An upstream that speaks bytes, and the number of connections to it so far.
pub(crate) async fn counting_upstream<F, A>(serve: F) -> (Arc<AtomicUsize>, SocketAddr)
where
    F: Fn(TcpStream) -> A + Send + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let address = raw_upstream(move |_, stream| {
        seen.fetch_add(1, Relaxed);
        serve(stream)
    })
    .await;
    (count, address)
}

/// Reads a head, up to and including the empty line.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

/// Sends these bytes and reads everything that comes back until the other end closes.
pub(crate) async fn say(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    rest(&mut stream).await
}

/// Everything that comes until the other end closes.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(STUCK, stream.read_to_end(&mut answer)).await;
    // A reset after the answer is an end as well.
    let _ = read.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A GET that closes its connection.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n")
}

/// The first line of an answer.
pub(crate) fn status(answer: &str) -> &str {
    answer.split("\r\n").next().unwrap_or("")
}

/// What follows the head of an answer.
pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// A body of the frames, and errors, that come through a channel.
pub(crate) struct Trickle(pub(crate) mpsc::Receiver<Result<Frame<Bytes>, std::io::Error>>);

impl hyper::body::Body for Trickle {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.get_mut().0.poll_recv(cx)
    }
}
