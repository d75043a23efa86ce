//! Requests and answers pass through as they are.

use http::Response;
use tollgate_server::gateway::UpstreamTarget;

use crate::bed::{Setup, at, body, bytes, gateway, get, say, status, upstream};

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
    let request = "POST /x?y=1 HTTP/1.1\r\nhost: a\r\nx-api-key: tg_live_1\r\nauthorization: Bearer tg_live_2\r\n\
                   content-length: 5\r\nconnection: close\r\n\r\nhello";
    let answer = say(gateway.address, request).await;
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
    assert!(!answer.contains("tg_live"), "{answer}");
    let echoed: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(echoed["method"], "POST");
    assert_eq!(echoed["path"], "/x");
    assert_eq!(echoed["query"], "y=1");
    assert_eq!(echoed["body_length"], 5);
    assert_eq!(echoed["headers"]["host"], "a");
}
