//! Bodies as they come over the wire: in pieces, too large, broken off, not UTF-8.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use sluicegate_core::policy::ServerSettings;
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::place::{Answered, Place, answered, wait};

const PLANS: &str = "tiers: {free: {rate: 1_000, burst: 1_000, quota: 100}}";
const MEBIBYTE: usize = 1 << 20;

/// A body that comes in pieces and does not say how many.
struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

fn post(place: &Place, uri: &str, pieces: Pieces) -> Answered {
    wait(answered(
        &place.service,
        Request::post(uri).header("content-type", "application/json").body(pieces).unwrap(),
    ))
}

#[test]
fn a_body_in_pieces_is_read_as_one() {
    let place = Place::new(PLANS).caller("free");
    let body = place.with_keys(r#"{"key":"<free>","path":"/a"}"#);
    let pieces = body.bytes().map(|byte| Bytes::copy_from_slice(&[byte])).collect();
    assert_eq!(post(&place, "/v1/check", Pieces(pieces)).member("/allowed"), true);
}

#[test]
fn no_more_of_a_body_is_read_than_it_may_have() {
    let place = Place::new(PLANS);
    for (uri, max) in [("/v1/check", MEBIBYTE), ("/v1/check/batch", 4 * MEBIBYTE), ("/v1/finish", MEBIBYTE)] {
        let piece = Bytes::from(vec![b' '; 64 * 1024]);
        let fits = Pieces(vec![piece.clone(); max / piece.len()].into());
        assert_eq!(post(&place, uri, fits).status, 400);
        let mut too_large = vec![piece.clone(); max / piece.len()];
        too_large.push(Bytes::from_static(b" "));
        assert_eq!(post(&place, uri, Pieces(too_large.into())).status, 413);
        let refused = place.ask("POST", uri, &[], &" ".repeat(max + 1));
        assert_eq!((refused.status, refused.member("/error")), (413, "body_too_large".into()));
    }
}

#[test]
fn what_is_no_utf_8_is_refused() {
    let place = Place::new(PLANS);
    let pieces = Pieces([Bytes::from_static(b"{\"key\":\"\xff\"}")].into());
    let refused = post(&place, "/v1/check", pieces);
    assert_eq!((refused.status, refused.member("/error")), (400, "invalid_request".into()));
}

pub(crate) fn start(place: &Place) -> SocketAddr {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), "--decision").unwrap();
    let address = listener.local_addr();
    let settings = ServeSettings::new(&ServerSettings::default(), None);
    tokio::spawn(serve(listener, settings, place.service.clone(), Shutdown::new()));
    address
}

pub(crate) async fn exchange(address: SocketAddr, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(sent).await;
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received).await;
    String::from_utf8(received).unwrap()
}

#[test]
fn the_same_is_answered_over_a_connection() {
    let place = Place::new(PLANS).caller("free");
    wait(async {
        let address = start(&place);
        let body = place.with_keys(r#"{"key":"<free>"}"#);
        let sized = format!(
            "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = exchange(address, sized.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\"allowed\":true"), "{answer}");
        let chunked = format!(
            "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n\r\n\
             5\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
            &body[..5],
            body.len() - 5,
            &body[5..]
        );
        assert!(exchange(address, chunked.as_bytes()).await.contains("\"allowed\":true"));
        let endless = format!(
            "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n\r\n{}",
            format!("10000\r\n{}\r\n", " ".repeat(0x10000)).repeat(17)
        );
        assert!(exchange(address, endless.as_bytes()).await.starts_with("HTTP/1.1 413 "));
        let unsent = "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                      Content-Length: 1048577\r\n\r\n";
        assert!(exchange(address, unsent.as_bytes()).await.starts_with("HTTP/1.1 413 "));
    });
}

#[test]
fn the_address_of_a_caller_is_what_a_trusted_proxy_says_it_is() {
    let place = Place::new("{identity: {anonymous: free}, tiers: {free: {rate: 1, burst: 1}}}");
    wait(async {
        let address = start(&place);
        for (forwarded, status) in [
            ("192.0.2.1", "200"),
            ("192.0.2.1", "429"),
            ("192.0.2.2", "200"),
            ("192.0.2.3, 192.0.2.2, 127.0.0.9", "429"),
        ] {
            let request = format!(
                "GET /v1/forward-auth HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-Method: GET\r\n\
                 X-Forwarded-Uri: /\r\nX-Forwarded-For: {forwarded}\r\n\r\n"
            );
            let answer = exchange(address, request.as_bytes()).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{forwarded}: {answer}");
            assert!(answer.contains("x-sluicegate-account: \r\n"), "{answer}");
        }
    });
}
