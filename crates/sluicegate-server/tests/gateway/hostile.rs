//! Requests that two servers could read in two ways never reach the upstream.

use std::sync::atomic::Ordering::Relaxed;

use tokio::io::AsyncWriteExt;

use crate::bed::{body, counting_upstream, gateway, get, raw_upstream, read_head, rest, say, status};

/// Says these bytes to a gateway whose upstream must not hear of them.
async fn refused(request: &[u8]) -> String {
    let (count, upstream) = counting_upstream(|_| async {}).await;
    let answer = say(gateway(upstream).address, request).await;
    assert_eq!(count.load(Relaxed), 0, "{}", String::from_utf8_lossy(request));
    answer
}

/// Says these bytes and expects our 400, which says this.
async fn malformed(request: &[u8], detail: &str) {
    let answer = refused(request).await;
    assert_eq!(status(&answer), "HTTP/1.1 400 Bad Request", "{}", String::from_utf8_lossy(request));
    let problem: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(problem["error"], "bad_request");
    assert!(problem["detail"].as_str().unwrap().contains(detail), "{answer}");
}

#[tokio::test]
async fn hosts_that_are_missing_repeated_or_contradicted_are_refused() {
    let end = "connection: close\r\n\r\n";
    malformed(format!("GET / HTTP/1.1\r\n{end}").as_bytes(), "no Host").await;
    malformed(format!("GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n{end}").as_bytes(), "several Host").await;
    malformed(format!("GET http://a/ HTTP/1.1\r\nhost: b\r\n{end}").as_bytes(), "not the host").await;
    malformed(format!("GET / HTTP/1.1\r\nhost: a@b\r\n{end}").as_bytes(), "no host").await;
}

#[tokio::test]
async fn paths_that_are_not_normal_are_refused() {
    for (path, detail) in [
        ("/a/../b", ". or .."),
        ("/a/./b", ". or .."),
        ("/a/%2e%2E/b", ". or .."),
        ("/a%2fb", "slash"),
        ("/a%5cb", "slash"),
        ("/a//b", "two slashes"),
        ("/a%00b", "control"),
        ("/a%zzb", "percent"),
    ] {
        malformed(get(path).as_bytes(), detail).await;
    }
    malformed(b"GET /\xc3\xa9 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", "percent-encoded").await;
}

#[tokio::test]
async fn what_the_parser_itself_refuses_reaches_nobody() {
    let requests: [&[u8]; 10] = [
        b"GET /a\\b HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nx y: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nx : 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n folded: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5, 5\r\n\r\nhello",
        b"POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    for request in requests {
        let answer = refused(request).await;
        let text = String::from_utf8_lossy(request);
        assert!(status(&answer).ends_with(" 400 Bad Request"), "{text}\n{answer}");
    }
}

#[tokio::test]
async fn codings_other_than_chunked_are_refused() {
    for coding in ["gzip, chunked", "chunked, identity", "identity", "xchunked"] {
        let head =
            format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: {coding}\r\nconnection: close\r\n\r\n");
        let answer = refused(format!("{head}0\r\n\r\n").as_bytes()).await;
        assert_eq!(status(&answer), "HTTP/1.1 400 Bad Request", "{coding}");
    }
}

/// A length beside chunks is dropped, in whichever order they stand, and the connection ends after the answer: what
/// follows the chunks is never taken for a request.
#[tokio::test]
async fn a_length_beside_chunks_smuggles_nothing() {
    for pair in
        ["content-length: 4\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 4"]
    {
        let (count, upstream) = counting_upstream(|mut stream| async move {
            let head = read_head(&mut stream).await;
            assert!(!head.contains("content-length"), "{head}");
            let chunks = read_head(&mut stream).await;
            assert!(chunks.ends_with("0\r\n\r\n") && !chunks.contains("smuggled"), "{chunks}");
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
            assert_eq!(rest(&mut stream).await, "");
        })
        .await;
        let request = format!(
            "POST / HTTP/1.1\r\nhost: a\r\n{pair}\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let answer = say(gateway(upstream).address, request).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert_eq!(count.load(Relaxed), 1);
    }
}

#[tokio::test]
async fn a_fragment_is_dropped() {
    let upstream = raw_upstream(|_, mut stream| async move {
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("GET /a HTTP/1.1\r\n"), "{head}");
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    })
    .await;
    assert_eq!(status(&say(gateway(upstream).address, get("/a#b")).await), "HTTP/1.1 204 No Content");
}
