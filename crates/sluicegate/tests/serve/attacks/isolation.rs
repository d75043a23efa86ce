//! Callers that hold on to what others need, or to what is no longer theirs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::upstream::Upstream;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::bed::{Bed, Key};
use crate::nodes::Nodes;

/// Nothing takes this long unless it is stuck.
const STUCK: Duration = Duration::from_secs(20);

/// More than a stream may have unread.
const LARGE: usize = 1024 * 1024;

const OPEN: &str = "
tiers:
  pro: {rate: 100_000, burst: 100_000}
  small: {rate: 1/hour, burst: 1}
blocks: {applies_to: all, after: 5, within: 1m, for: 10m, max: 1h}
";

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = if request.uri().path() == "/large" { vec![b'x'; LARGE] } else { b"small".to_vec() };
    request.into_body().collect().await?;
    Ok(Response::new(Full::from(body)))
}

/// An upstream that answers in HTTP/2.
async fn http2_upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    address
}

async fn caller(address: SocketAddr, window: u32) -> SendRequest<Full<Bytes>> {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window);
    let (send, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

fn call(path: &str, key: &str) -> Request<Full<Bytes>> {
    Request::post(format!("http://a.example{path}"))
        .header("content-type", "application/grpc")
        .header("x-api-key", key)
        .body(Full::from("a message"))
        .unwrap()
}

#[test]
fn attack_27_answers_that_are_not_read_stop_nobody_else() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let upstream = format!("http://{}", http2_upstream().await);
        let bed = Bed::start_with(OPEN, |launch| launch.arg("--upstream").arg(&upstream));
        let (attacker, victim) = (bed.customer("attacker", "pro"), bed.customer("victim", "pro"));
        let mut reading_nothing = caller(bed.server.gateway(), 0).await;
        let mut held = Vec::new();
        for _ in 0..17 {
            let begun = timeout(STUCK, reading_nothing.send_request(call("/large", &attacker))).await;
            held.push(begun.unwrap().unwrap());
        }
        let mut calling = caller(bed.server.gateway(), 65_535).await;
        for _ in 0..100 {
            let begun = timeout(STUCK, calling.send_request(call("/small", &victim))).await.unwrap().unwrap();
            let body = timeout(STUCK, begun.into_body().collect()).await.unwrap().unwrap();
            assert_eq!(body.to_bytes(), "small");
        }
    });
}

const HANDSHAKE: &str = "GET /chat HTTP/1.1\r\nhost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
const AGREED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// An upstream that agrees to tunnels and sends back what it gets.
fn echo() -> Upstream {
    Upstream::start(|_, mut stream: TcpStream| {
        if stream.write_all(AGREED).is_ok() {
            let mut back = stream.try_clone().unwrap();
            let _ = std::io::copy(&mut stream, &mut back);
        }
    })
}

fn tunnel(bed: &Bed, key: &Key) -> TcpStream {
    let mut stream = TcpStream::connect(bed.server.gateway()).unwrap();
    stream.set_read_timeout(Some(STUCK)).unwrap();
    write!(stream, "{HANDSHAKE}X-API-Key: {}\r\n\r\n", key.key).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 101"), "no tunnel");
    assert!(flows(&mut stream));
    stream
}

fn flows(stream: &mut TcpStream) -> bool {
    stream.write_all(b"x").is_ok() && stream.read_exact(&mut [0]).is_ok()
}

/// Waits until the tunnel is closed.
fn closed(mut stream: TcpStream) {
    assert!(matches!(stream.read(&mut [0]), Ok(0)), "the tunnel is still open");
}

fn revoke(bed: &Bed, key: &Key) {
    assert!(bed.admin(Asked::new("DELETE", &format!("/admin/v1/keys/{}", key.id))).status < 300);
}

fn delete(bed: &Bed, account: &str) {
    assert!(bed.admin(Asked::new("DELETE", &format!("/admin/v1/accounts/{account}"))).status < 300);
}

/// Has the caller refused until it is blocked.
fn block(bed: &Bed, key: &Key) {
    for _ in 0..5 {
        assert_eq!(bed.gateway(&Asked::get("/").key(&key.key)).status, 429);
    }
}

fn key(bed: &Bed, account: &str, tier: &str) -> Key {
    bed.account(account, tier);
    bed.key_with(account, &json!({}))
}

/// Opens tunnels at one node, and takes the rights of their callers away at another.
fn tunnels_end(opened_at: &Bed, changed_at: &Bed) {
    let pro = |account| key(opened_at, account, "pro");
    let (revoked, deleted, kept) = (pro("revoked"), pro("deleted"), pro("kept"));
    let blocked = key(opened_at, "blocked", "small");
    let [first, second, third, mut last] =
        [&revoked, &deleted, &blocked, &kept].map(|key| tunnel(opened_at, key));
    revoke(changed_at, &revoked);
    delete(changed_at, "deleted");
    block(changed_at, &blocked);
    closed(first);
    closed(second);
    closed(third);
    assert!(flows(&mut last), "the tunnel of another account");
}

#[test]
fn attack_28_a_tunnel_ends_with_its_key_its_account_or_a_block() {
    let upstream = echo();
    let bed = Bed::start_with(OPEN, |launch| launch.arg("--upstream").arg(upstream.url()));
    tunnels_end(&bed, &bed);
}

#[test]
fn attack_28_a_tunnel_ends_with_its_key_its_account_or_a_block_at_another_node() {
    let upstream = echo();
    let nodes = Nodes::start(&format!("{OPEN}server: {{upstream: '{}'}}\n", upstream.url()), 2);
    let [one, two] = &nodes.nodes[..] else { panic!("two nodes") };
    tunnels_end(one, two);
}
