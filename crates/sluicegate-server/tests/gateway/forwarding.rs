//! Requests and answers pass through as they are.

use std::sync::atomic::Ordering::Relaxed;

use http::Response;
use http_body_util::BodyExt;
use sluicegate_core::policy::{Network, UpstreamHost};
use sluicegate_server::gateway::UpstreamTarget;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bed::{
    Setup, at, body, bytes, counting_upstream, gateway, get, raw_upstream, read_head, rest, say, status,
    target, upstream,
};

#[tokio::test]
async fn a_request_and_its_answer_pass_through() {
    let upstream = upstream(|request| async move {
        let text = format!("{} {}", request.method(), request.uri());
        Response::builder().status(201).header("x-of", "upstream").body(bytes(text)).unwrap()
    });
    let answer = say(gateway(upstream).address, get("/a/b?c=d")).await;
    assert_eq!(status(&answer), "HTTP/1.1 201 Created");
    assert!(answer.contains("x-of: upstream\r\n"), "{answer}");
    assert_eq!(body(&answer), "GET /a/b?c=d");
}

#[tokio::test]
async fn the_path_of_the_upstream_stands_before_the_path_asked_for() {
    let upstream = upstream(|request| async move { Response::new(bytes(request.uri().to_string())) });
    let gateway = Setup::to(at(upstream, "/base/")).start();
    assert_eq!(body(&say(gateway.address, get("/x?y=1")).await), "/base/x?y=1");
}

#[tokio::test]
async fn without_an_upstream_the_gateway_answers_with_what_it_was_sent() {
    let gateway = Setup::to(UpstreamTarget::Echo).start();
    let request = "POST /x?y=1 HTTP/1.1\r\nhost: a\r\nx-api-key: sg_live_1\r\nauthorization: Bearer sg_live_2\r\n\
                   content-length: 5\r\nconnection: close\r\n\r\nhello";
    let answer = say(gateway.address, request).await;
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
    assert!(!answer.contains("sg_live"), "{answer}");
    let echoed: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(echoed["method"], "POST");
    assert_eq!(echoed["path"], "/x");
    assert_eq!(echoed["query"], "y=1");
    assert_eq!(echoed["body_length"], 5);
    assert_eq!(echoed["headers"]["host"], "a");
}

#[tokio::test]
async fn any_method_passes_and_connect_does_not() {
    let upstream = upstream(|request| async move { Response::new(bytes(request.method().to_string())) });
    let gateway = gateway(upstream);
    for method in ["PUT", "DELETE", "PROPFIND", "X"] {
        let request = format!("{method} / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        assert_eq!(body(&say(gateway.address, request).await), method);
    }
    let answer =
        say(gateway.address, "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\nconnection: close\r\n\r\n").await;
    assert_eq!(status(&answer), "HTTP/1.1 405 Method Not Allowed");
    assert!(answer.contains("application/problem+json"), "{answer}");
}

#[tokio::test]
async fn the_answer_to_head_says_its_length_and_has_no_body() {
    let upstream = upstream(|_| async { Response::new(bytes("hello")) });
    for gateway in [gateway(upstream), Setup::to(UpstreamTarget::Echo).start()] {
        let answer = say(gateway.address, get("/").replace("GET", "HEAD")).await;
        assert_eq!(status(&answer), "HTTP/1.1 200 OK");
        assert!(answer.contains("content-length: ") && !answer.contains("content-length: 0"), "{answer}");
        assert_eq!(body(&answer), "");
    }
}

#[tokio::test]
async fn a_connection_is_used_again_for_the_next_request() {
    let (count, upstream) = counting_upstream(|mut stream| async move {
        while !read_head(&mut stream).await.is_empty() {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
        }
    })
    .await;
    let gateway = gateway(upstream);
    for _ in 0..5 {
        assert_eq!(body(&say(gateway.address, get("/")).await), "hi");
    }
    assert_eq!(count.load(Relaxed), 1);
}

#[tokio::test]
async fn the_caller_host_is_passed_on_and_the_peer_is_told() {
    let upstream = upstream(|request| async move {
        let text = |name: &str| String::from_utf8_lossy(request.headers()[name].as_bytes()).into_owned();
        let names = ["host", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"];
        Response::new(bytes(names.map(text).join(" ")))
    });
    let request = get("/").replace("\r\n\r\n", "\r\nx-forwarded-for: 9.9.9.9\r\n\r\n");
    let answer = say(gateway(upstream).address, &request).await;
    assert_eq!(body(&answer), "a.example 127.0.0.1 http a.example");
    let mut setup = Setup::to(at(upstream, ""));
    setup.forward.proxies.trusted = vec![Network::parse("127.0.0.0/8").unwrap()];
    let answer = say(setup.start().address, &request).await;
    assert_eq!(body(&answer), "a.example 9.9.9.9, 127.0.0.1 http a.example");
}

#[tokio::test]
async fn a_request_of_http_1_0_without_a_host_gets_that_of_the_upstream() {
    let upstream = upstream(|request| async move {
        Response::new(bytes(request.headers()["host"].to_str().unwrap().to_owned()))
    });
    let answer = say(gateway(upstream).address, "GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(body(&answer), upstream.to_string());
}

#[tokio::test]
async fn an_upstream_may_be_called_by_its_own_name() {
    let upstream = upstream(|request| async move {
        let text = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        Response::new(bytes(text("host") + " " + &text("x-forwarded-host")))
    });
    let target = target(&format!("http://{upstream}")).called(UpstreamHost::Upstream);
    let answer = say(Setup::to(UpstreamTarget::Http(target)).start().address, get("/")).await;
    assert_eq!(body(&answer), format!("{upstream} a.example"));
}

#[tokio::test]
async fn the_caller_is_told_to_go_on_when_its_body_is_wanted() {
    let upstream = raw_upstream(|_, mut stream| async move {
        assert!(!read_head(&mut stream).await.contains("expect"));
        let mut body = [0; 5];
        stream.read_exact(&mut body).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").await.unwrap();
        stream.write_all(&body).await.unwrap();
    })
    .await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\nconnection: close\r\n\r\n";
    caller.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(read_head(&mut caller).await, "HTTP/1.1 100 Continue\r\n\r\n");
    caller.write_all(b"hello").await.unwrap();
    assert_eq!(body(&rest(&mut caller).await), "hello");
}

#[tokio::test]
async fn a_chunked_body_of_a_get_passes() {
    let upstream = upstream(|request| async move {
        Response::new(bytes(request.into_body().collect().await.unwrap().to_bytes()))
    });
    let request = "GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
                   2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    assert_eq!(body(&say(gateway(upstream).address, request).await), "hello");
}

#[tokio::test]
async fn trailers_pass_over_http_1_1() {
    let upstream = raw_upstream(|_, mut stream| async move {
        assert!(read_head(&mut stream).await.contains("te: trailers"));
        let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n\
                      2\r\nhi\r\n0\r\nx-sum: 7\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let request = "GET / HTTP/1.1\r\nhost: a\r\nte: trailers\r\nconnection: close, te\r\n\r\n";
    let answer = say(gateway(upstream).address, request).await;
    assert_eq!(body(&answer), "2\r\nhi\r\n0\r\nx-sum: 7\r\n\r\n", "{answer}");
}
