//! Connections that become something else, such as WebSockets.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::bed::{STUCK, Setup, at, gateway, get, raw_upstream, read_head, rest, say, status};

const HANDSHAKE: &str = "GET /chat HTTP/1.1\r\nhost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// A text frame with "Hello", masked as those of callers are.
const FRAME: &[u8] = &[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];

/// An upstream that agrees to WebSockets, says something first, sends back what it gets, and says when it is over.
pub(crate) async fn echo() -> (mpsc::UnboundedReceiver<()>, std::net::SocketAddr) {
    let (ended, endings) = mpsc::unbounded_channel();
    let upstream = raw_upstream(move |_, mut stream| {
        let ended = ended.clone();
        async move {
            let head = read_head(&mut stream).await;
            assert!(head.contains("connection: upgrade\r\n"), "{head}");
            assert!(head.contains("upgrade: websocket\r\n"), "{head}");
            assert!(head.contains("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "{head}");
            stream.write_all(format!("{AGREED}first").as_bytes()).await.unwrap();
            let (mut read, mut write) = stream.split();
            let _ = tokio::io::copy(&mut read, &mut write).await;
            ended.send(()).unwrap();
        }
    })
    .await;
    (endings, upstream)
}

async fn open(address: std::net::SocketAddr) -> TcpStream {
    open_with(address, "").await
}

/// Opens a tunnel with these header lines besides.
pub(crate) async fn open_with(address: std::net::SocketAddr, headers: &str) -> TcpStream {
    let mut caller = TcpStream::connect(address).await.unwrap();
    let handshake = HANDSHAKE.replace("\r\n\r\n", &format!("\r\n{headers}\r\n"));
    caller.write_all(handshake.as_bytes()).await.unwrap();
    let head = read_head(&mut caller).await;
    assert_eq!(status(&head), "HTTP/1.1 101 Switching Protocols");
    assert!(head.contains("upgrade: websocket\r\n") && head.contains("connection: upgrade\r\n"), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
    let mut first = [0; 5];
    caller.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"first");
    caller
}

#[tokio::test]
async fn a_websocket_passes_in_both_directions_until_the_caller_leaves() {
    let (mut endings, upstream) = echo().await;
    let mut caller = open(gateway(upstream).address).await;
    for _ in 0..3 {
        caller.write_all(FRAME).await.unwrap();
        let mut frame = [0; FRAME.len()];
        caller.read_exact(&mut frame).await.unwrap();
        assert_eq!(frame, FRAME);
    }
    drop(caller);
    tokio::time::timeout(STUCK, endings.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_websocket_ends_when_the_upstream_leaves() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(format!("{AGREED}first").as_bytes()).await.unwrap();
    })
    .await;
    let mut caller = open(gateway(upstream).address).await;
    assert_eq!(rest(&mut caller).await, "");
}

#[tokio::test]
async fn a_websocket_is_cut_when_the_gateway_ends() {
    let (mut endings, upstream) = echo().await;
    let mut setup = Setup::to(at(upstream, ""));
    setup.serve.drain = Duration::from_millis(50);
    let gateway = setup.start();
    let mut caller = open(gateway.address).await;
    gateway.shutdown.begin();
    tokio::time::timeout(STUCK, gateway.ended).await.unwrap().unwrap();
    assert_eq!(rest(&mut caller).await, "");
    tokio::time::timeout(STUCK, endings.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_upstream_may_decline() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    caller.write_all(HANDSHAKE.as_bytes()).await.unwrap();
    let head = read_head(&mut caller).await;
    assert_eq!(status(&head), "HTTP/1.1 403 Forbidden");
    assert!(!head.contains("upgrade"), "{head}");
    let mut body = [0; 2];
    caller.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"no");
}

/// Through such a tunnel requests would pass that nobody counts.
#[tokio::test]
async fn an_upgrade_to_another_http_is_an_ordinary_request() {
    let upstream = raw_upstream(|_, mut stream| async move {
        let head = read_head(&mut stream).await;
        assert!(!head.contains("upgrade") && !head.contains("http2-settings"), "{head}");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    })
    .await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    let request = "GET / HTTP/1.1\r\nhost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    caller.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(status(&read_head(&mut caller).await), "HTTP/1.1 200 OK");
}

/// Bytes that follow such an answer would be taken for the answer to another request.
#[tokio::test]
async fn a_change_of_protocol_that_was_not_asked_for_is_a_bad_gateway() {
    let upstream = raw_upstream(|_, mut stream| async move {
        let head = read_head(&mut stream).await;
        let protocol = if head.contains("upgrade: websocket") { "h2c" } else { "websocket" };
        let switched =
            format!("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: {protocol}\r\n\r\n");
        stream.write_all(switched.as_bytes()).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother").await.unwrap();
        rest(&mut stream).await;
    })
    .await;
    let address = gateway(upstream).address;
    let answer = say(address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
    let mut caller = TcpStream::connect(address).await.unwrap();
    caller.write_all(HANDSHAKE.as_bytes()).await.unwrap();
    assert_eq!(status(&read_head(&mut caller).await), "HTTP/1.1 502 Bad Gateway");
}
