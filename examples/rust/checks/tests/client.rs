//! The client waits as long as the server says, and gives up where a retry cannot help.

use checks::process::Example;
use checks::stub::Stub;
use std::time::Duration;

#[test]
fn a_refusal_is_retried_when_the_server_says_so_and_with_the_same_idempotency_key() {
    let server =
        Stub::answering(&[("429 Too Many Requests", "Retry-After: 2\r\n", ""), ("200 OK", "", "done")]);
    let folder = tempfile::tempdir().unwrap();
    let variables = [("API_KEY", "sg_live_1")];
    let mut example = Example::start("client", folder.path(), &[&server.url], &variables);
    assert_eq!(example.line("200 "), "OK");
    assert!(example.end().success());

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].at - requests[0].at >= Duration::from_secs(2));
    for request in requests {
        assert_eq!((request.line.as_str(), request.body.as_str()), ("POST /", "tea"));
        assert!(request.headers.contains("authorization: bearer sg_live_1\r\n"));
        assert!(request.headers.contains("idempotency-key: order-1\r\n"));
    }
}

#[test]
fn a_spent_quota_is_not_retried() {
    let server = Stub::answering(&[("402 Payment Required", "Retry-After: 1\r\n", "")]);
    let folder = tempfile::tempdir().unwrap();
    let mut example = Example::start("client", folder.path(), &[&server.url], &[]);
    assert!(!example.line("402 Payment Required: ").is_empty());
    assert!(example.end().success());
    assert_eq!(server.requests().len(), 1);
}
