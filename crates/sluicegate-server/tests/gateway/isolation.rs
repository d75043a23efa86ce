//! One caller that does not read its answers, and what the other callers notice of it: nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluicegate_core::file;
use sluicegate_server::gateway::gateway as whole_gateway;
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown, serve};
use sluicegate_tower::Sluicegate;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use crate::bed::{STUCK, bytes, upstream};

/// More than what one stream may have unread.
const LARGE: usize = 1024 * 1024;

/// What a machine that is busy with other tests may add to a call.
const SLACK: Duration = Duration::from_millis(500);

/// A gateway as the server runs it: with accounts.
pub(crate) struct Limited {
    pub(crate) address: SocketAddr,
    pub(crate) gate: Sluicegate,
}

impl Limited {
    /// Before this upstream, with these settings of the server besides.
    pub(crate) async fn before(upstream: SocketAddr, server: &str) -> Self {
        let policy = format!(
            "
tiers:
  open: {{rate: 100_000, burst: 100_000}}
  metered: {{rate: 100_000, burst: 100_000, quota: 1_000, concurrency: 1}}
  small: {{rate: 1/hour, burst: 1}}
blocks: {{applies_to: all, after: 5, within: 1m, for: 10m, max: 1h}}
server: {{upstream: 'http://{upstream}'{server}}}
"
        );
        let server = file::read(policy.as_bytes()).unwrap().server;
        let gate = Sluicegate::in_memory(policy).await.unwrap();
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "--gateway").unwrap();
        let address = listener.local_addr();
        let service = whole_gateway(Arc::clone(gate.engine()), &server).unwrap();
        tokio::spawn(serve(listener, ServeSettings::new(&server, None), service, Shutdown::new()));
        Self { address, gate }
    }

    /// How much of its quota an account has used.
    pub(crate) async fn used_now(&self, account: &str) -> u64 {
        let engine = self.gate.engine();
        let account = engine.directory().account(account).await.unwrap().unwrap();
        let limits = engine.limits_of(&account, &[], engine.now()).await.unwrap();
        limits.iter().find(|found| found.now.name.as_str() == "quota").unwrap().now.used
    }

    /// Waits until an account has used this much of its quota.
    pub(crate) async fn used(&self, account: &str, expected: u64) {
        let reached = async {
            while self.used_now(account).await != expected {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(STUCK, reached).await.unwrap();
    }

    /// The key of an account of this name, in this tier.
    pub(crate) async fn key(&self, account: &str, tier: &str) -> String {
        self.gate.accounts().ensure(account, tier).await.unwrap();
        let (_, key) = self.gate.accounts().create_key(account, "main").await.unwrap();
        key.expose().to_owned()
    }
}

/// A caller whose streams begin with this window.
async fn caller(address: SocketAddr, window: u32) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window);
    let (send, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

fn grpc(path: &str, key: &str) -> Request<Full<Bytes>> {
    Request::post(format!("http://a.example{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("x-api-key", key)
        .body(Full::from("a message"))
        .unwrap()
}

/// Answers `/large` with more than a stream may have unread, and everything else at once.
fn sized_upstream() -> SocketAddr {
    upstream(|request| async move {
        let large = request.uri().path() == "/large";
        request.into_body().collect().await.unwrap();
        Response::new(if large { bytes(vec![b'x'; LARGE]) } else { bytes("small") })
    })
}

/// How long each of these calls took, the slowest last.
async fn calls(send: &mut SendRequest<Full<Bytes>>, key: &str, count: usize) -> Vec<Duration> {
    let mut took = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        let answer = timeout(STUCK, send.send_request(grpc("/small", key))).await.unwrap().unwrap();
        let body = timeout(STUCK, answer.into_body().collect()).await.unwrap().unwrap();
        assert_eq!(body.to_bytes(), "small");
        took.push(began.elapsed());
    }
    took.sort_unstable();
    took
}

fn p99(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() * 99 / 100 - 1]
}

/// Answers that were begun, and of which nothing is taken.
async fn unread_answers(
    send: &mut SendRequest<Full<Bytes>>,
    key: &str,
    count: usize,
) -> Vec<Response<Incoming>> {
    let mut held = Vec::new();
    for _ in 0..count {
        held.push(timeout(STUCK, send.send_request(grpc("/large", key))).await.unwrap().unwrap());
    }
    held
}

/// Seventeen answers took the whole window of the connection that all calls shared.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_grants_no_window_stops_no_other_caller() {
    let gateway = Limited::before(sized_upstream(), "").await;
    let (attacker, victim) = (gateway.key("attacker", "open").await, gateway.key("victim", "open").await);
    let mut calling = caller(gateway.address, 65_535).await;
    calls(&mut calling, &victim, 100).await;
    let unloaded = calls(&mut calling, &victim, 500).await;
    let mut reading_nothing = Vec::new();
    for streams in [17, 200] {
        let mut send = caller(gateway.address, 0).await;
        let held = unread_answers(&mut send, &attacker, streams).await;
        reading_nothing.push((send, held));
        let loaded = calls(&mut calling, &victim, 500).await;
        println!("{streams} unread answers: p99 {:?}, unloaded {:?}", p99(&loaded), p99(&unloaded));
        assert!(p99(&loaded) < 2 * p99(&unloaded) + SLACK, "{:?}", p99(&loaded));
    }
}

/// An upstream with the smallest windows, which never reads what is sent to `/stuck`.
async fn narrow_upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = |request: Request<Incoming>| async move {
        if request.uri().path() == "/stuck" {
            let _unread = request;
            std::future::pending::<()>().await;
        } else {
            request.into_body().collect().await?;
        }
        Ok::<_, hyper::Error>(Response::new(Full::<Bytes>::from("small")))
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            server.initial_connection_window_size(65_535).initial_stream_window_size(65_535);
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    address
}

/// The other way round: one upload that the upstream does not read takes the window for the uploads of all.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_uploads_are_not_taken_stops_no_other_caller() {
    let gateway = Limited::before(narrow_upstream().await, "").await;
    let (attacker, victim) = (gateway.key("attacker", "open").await, gateway.key("victim", "open").await);
    let mut calling = caller(gateway.address, 65_535).await;
    calls(&mut calling, &victim, 20).await;
    for _ in 0..3 {
        let mut send = caller(gateway.address, 65_535).await;
        let stuck = grpc("/stuck", &attacker).map(|_| Full::from(vec![b'x'; 200 * 1024]));
        tokio::spawn(async move { send.send_request(stuck).await });
        // Long enough to be noticed.
        tokio::time::sleep(Duration::from_millis(300)).await;
        calls(&mut calling, &victim, 20).await;
    }
}

/// An upstream that answers nothing, and the connections and calls that have reached it.
async fn holding_upstream() -> (Arc<[AtomicUsize; 2]>, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, counts) = (listener.local_addr().unwrap(), Arc::<[AtomicUsize; 2]>::default());
    let counted = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted[0].fetch_add(1, Relaxed);
            let counted = Arc::clone(&counted);
            let answer = move |_: Request<Incoming>| {
                counted[1].fetch_add(1, Relaxed);
                std::future::pending::<Result<Response<Full<Bytes>>, hyper::Error>>()
            };
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    (counts, address)
}

/// A hundred calls of one caller: sixteen on a shared connection, the others on connections of its own, four at most.
#[tokio::test]
async fn connections_are_opened_by_streams_in_use_up_to_their_maximum() {
    for (settings, expected) in [("", 5), (", upstream_connections: 4", 3), (", upstream_connections: 1", 1)]
    {
        let (counts, upstream) = holding_upstream().await;
        let gateway = Limited::before(upstream, settings).await;
        let key = gateway.key("acme", "open").await;
        let send = caller(gateway.address, 65_535).await;
        for _ in 0..100 {
            let (mut send, call) = (send.clone(), grpc("/held", &key));
            tokio::spawn(async move { send.send_request(call).await });
        }
        let reached = async {
            while counts[1].load(Relaxed) < 100 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(STUCK, reached).await.unwrap();
        assert_eq!(counts[0].load(Relaxed), expected, "{settings}");
    }
}
