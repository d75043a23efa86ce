//! What docs/library-comparison.md says of the compared programs, measured on them. Built with `SLUICEGATE_SLOW=1`.

use checks::http::{Response, get};
use checks::process::Example;
use checks::stub::Stub;
use std::time::Duration;

/// More than a burst of 20 and what comes back while they are sent.
const REQUESTS_MAX: usize = 1_000;

/// The first response and the first refusal of a program that admits 10 requests per second in bursts of 20.
fn until_refused(package: &str) -> (Response, Response) {
    let folder = tempfile::tempdir().unwrap();
    let example = Example::start(package, folder.path(), &[], &[]);
    let (key, url) = (example.line("key "), example.url());
    let call = || get(&url, &[("X-API-Key", &key)]);
    assert_eq!(get(&url, &[]).status, 401);
    let first = call();
    assert_eq!((first.status, first.body.as_str()), (200, "hello acme\n"));
    let mut responses = (1..REQUESTS_MAX).map(|_| call());
    let admitted = responses.by_ref().take_while(|response| response.status == 200).count() + 1;
    assert!(admitted >= 20, "{package} admits {admitted}");
    let refusal = responses.find(|response| response.status != 200).unwrap();
    assert_eq!(refusal.status, 429);
    (first, refusal)
}

#[test]
fn every_server_admits_a_burst_of_20_and_says_what_the_page_says() {
    if !checks::is_slow() {
        return;
    }
    let (first, refusal) = until_refused("compare-sluicegate");
    assert_eq!(first.header("x-quota-remaining"), Some("49999"));
    assert!(first.header("ratelimit").is_some() && first.header("ratelimit-policy").is_some());
    assert_eq!(refusal.header("retry-after"), Some("1"));

    for package in ["compare-tower-governor", "compare-actix-governor"] {
        let (first, refusal) = until_refused(package);
        assert_eq!(first.header("x-ratelimit-limit"), Some("20"));
        assert_eq!(first.header("x-ratelimit-remaining"), Some("19"));
        assert_eq!(refusal.header("retry-after"), Some("0"));
    }

    let (first, refusal) = until_refused("compare-limitador");
    assert!(first.header("x-ratelimit-limit").unwrap().contains("50000;w=2592000"));
    assert_eq!(first.header("x-ratelimit-remaining"), Some("19"));
    assert_eq!(refusal.header("retry-after"), None);
    assert!(refusal.header("x-ratelimit-reset").is_some());
}

/// How long after a 429 with `Retry-After: 3` a client comes again, and how often it has to.
fn comes_again(package: &str) -> (Duration, usize) {
    let refusal = ("429 Too Many Requests", "Retry-After: 3\r\n", "");
    let server = Stub::answering(&[refusal, ("200 OK", "", "")]);
    let folder = tempfile::tempdir().unwrap();
    let mut example = Example::start(package, folder.path(), &[&server.url], &[]);
    assert_eq!(example.line("200 "), "OK");
    assert!(example.end().success());
    let requests = server.requests();
    (requests[1].at - requests[0].at, requests.len())
}

#[test]
fn only_one_of_the_clients_obeys_retry_after() {
    if !checks::is_slow() {
        return;
    }
    let three = Duration::from_secs(3);
    let (wait, requests) = comes_again("compare-sluicegate-client");
    assert!(wait >= three && requests == 2, "{wait:?}");
    let (wait, requests) = comes_again("compare-reqwest-retry");
    assert!(wait < three && requests == 2, "{wait:?}");
}
