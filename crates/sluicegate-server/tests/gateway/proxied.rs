//! The PROXY protocol: who called is what a trusted proxy says before the first byte.

use std::net::SocketAddr;
use std::time::Duration;

use http::Response;
use sluicegate_core::policy::{Network, Proxies, ProxyProtocol, ServerSettings};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::bed::{Gateway, Setup, at, body, bytes, get, rest, say, status, upstream};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// A gateway that wants the header, and believes who calls from there. Its upstream answers with who called.
fn gateway(trusted: &str) -> Gateway {
    let upstream = upstream(|request| async move {
        Response::new(bytes(request.headers()["x-forwarded-for"].to_str().unwrap().to_owned()))
    });
    let proxies = Proxies { trusted: vec![Network::parse(trusted).unwrap()], ..Proxies::default() };
    let server =
        ServerSettings { proxies, proxy_protocol: ProxyProtocol::Required, ..ServerSettings::default() };
    let mut setup = Setup::to(at(upstream, ""));
    setup.serve = setup.serve.behind_proxies(&server);
    setup.serve.header = Duration::from_millis(500);
    setup.forward.proxies = server.proxies;
    setup.start()
}

/// What a caller is answered whose proxy says this first.
async fn said(address: SocketAddr, header: &[u8]) -> String {
    say(address, [header, get("/").as_bytes()].concat()).await
}

fn v2(command: u8, kind: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    [SIGNATURE, &[command, kind], &length, block].concat()
}

const V4: [u8; 12] = [203, 0, 113, 9, 127, 0, 0, 1, 0xdc, 0x04, 0, 80];

#[tokio::test]
async fn the_caller_is_who_the_proxy_says() {
    let gateway = gateway("127.0.0.0/8");
    let mut v6 = [0; 36];
    v6[..2].copy_from_slice(&[0x20, 0x01]);
    v6[15] = 9;
    for (header, caller) in [
        (b"PROXY TCP4 203.0.113.9 127.0.0.1 56324 80\r\n".to_vec(), "203.0.113.9"),
        (b"PROXY TCP6 2001:db8::9 ::1 56324 80\r\n".to_vec(), "2001:db8::9"),
        (b"PROXY TCP6 ::ffff:203.0.113.9 ::1 56324 80\r\n".to_vec(), "203.0.113.9"),
        (v2(0x21, 0x11, &V4), "203.0.113.9"),
        (v2(0x21, 0x21, &v6), "2001::9"),
        (v2(0x21, 0x11, &[&V4[..], &[0x04, 0x0f, 0xd0], &[0; 4_048]].concat()), "203.0.113.9"),
        // The proxy itself, to see whether we are there.
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (b"PROXY UNKNOWN 203.0.113.9 127.0.0.1 56324 80\r\n".to_vec(), "127.0.0.1"),
        (v2(0x20, 0x00, &[]), "127.0.0.1"),
        (v2(0x20, 0x11, &V4), "127.0.0.1"),
        (v2(0x21, 0x00, &V4), "127.0.0.1"),
    ] {
        let answer = said(gateway.address, &header).await;
        assert_eq!((status(&answer), body(&answer)), ("HTTP/1.1 200 OK", caller), "{header:?}");
    }
}

#[tokio::test]
async fn a_header_may_come_byte_by_byte_and_the_request_right_behind_it() {
    let gateway = gateway("127.0.0.0/8");
    for header in [b"PROXY TCP4 203.0.113.9 127.0.0.1 56324 80\r\n".to_vec(), v2(0x21, 0x11, &V4)] {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for byte in [&header[..], get("/").as_bytes()].concat() {
            stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(body(&rest(&mut stream).await), "203.0.113.9");
    }
}

#[tokio::test]
async fn without_a_header_or_with_another_nobody_is_answered() {
    let gateway = gateway("127.0.0.0/8");
    let long = [b"PROXY UNKNOWN ".to_vec(), vec![b'x'; 200], b"\r\n".to_vec()].concat();
    let mut other_signature = v2(0x21, 0x11, &V4);
    other_signature[11] = b'\r';
    for header in [
        Vec::new(),
        b"PROXY\r\n".to_vec(),
        b"PROXY TCP4 203.0.113.9 127.0.0.1 56324\r\n".to_vec(),
        b"PROXY TCP4 203.0.113.999 127.0.0.1 56324 80\r\n".to_vec(),
        b"PROXY TCP4 203.0.113.9 127.0.0.1 56324 80\n".to_vec(),
        b"proxy TCP4 203.0.113.9 127.0.0.1 56324 80\r\n".to_vec(),
        b" PROXY TCP4 203.0.113.9 127.0.0.1 56324 80\r\n".to_vec(),
        long,
        other_signature,
        v2(0x11, 0x11, &V4),
        v2(0x22, 0x11, &V4),
        v2(0x21, 0x12, &V4),
        v2(0x21, 0x11, &V4[..11]),
        v2(0x21, 0x11, &[0; 4_097]),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a greeting of TLS".to_vec(),
    ] {
        assert_eq!(said(gateway.address, &header).await, "", "{:?}", String::from_utf8_lossy(&header));
    }
    // Nor twice: the second one is what the caller says.
    let twice = b"PROXY TCP4 203.0.113.9 127.0.0.1 1 2\r\nPROXY TCP4 203.0.113.10 127.0.0.1 1 2\r\n";
    assert_eq!(status(&said(gateway.address, twice).await), "HTTP/1.1 400 Bad Request");
}

#[tokio::test]
async fn a_header_that_does_not_come_ends_its_connection() {
    let gateway = gateway("127.0.0.0/8");
    for begun in [&b""[..], b"PROX", b"PROXY TCP4 203.0.113.9 127", SIGNATURE, &v2(0x21, 0x11, &V4)[..20]] {
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(begun).await.unwrap();
        assert_eq!(rest(&mut stream).await, "");
    }
}

#[tokio::test]
async fn whoever_is_no_trusted_proxy_is_not_even_heard() {
    let gateway = gateway("10.0.0.0/8");
    let header = b"PROXY TCP4 10.0.0.1 127.0.0.1 56324 80\r\n";
    assert_eq!(said(gateway.address, header).await, "");
    assert_eq!(said(gateway.address, b"").await, "");
    // Nothing of it was read: it is closed at once.
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn what_a_caller_claims_is_not_believed_because_its_proxy_is() {
    let gateway = gateway("127.0.0.0/8");
    let claim = get("/").replace("\r\n\r\n", "\r\nx-forwarded-for: 6.6.6.6\r\n\r\n");
    let header = b"PROXY TCP4 203.0.113.9 127.0.0.1 56324 80\r\n";
    let answer = say(gateway.address, [header, claim.as_bytes()].concat()).await;
    assert_eq!(body(&answer), "203.0.113.9");
    // A proxy behind the proxy is believed about who called it.
    let header = b"PROXY TCP4 127.0.0.77 127.0.0.1 56324 80\r\n";
    let answer = say(gateway.address, [header, claim.as_bytes()].concat()).await;
    assert_eq!(body(&answer), "6.6.6.6, 127.0.0.77");
}
