//! What passes, what stays behind, what is added.

use std::net::SocketAddr;

use http::Request;
use sluicegate_core::policy::Network;

use super::*;
use crate::listen::{Scheme, Shutdown};

fn parts(headers: &[(&str, &str)]) -> request::Parts {
    let mut request = Request::get("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn peer(address: &str) -> Peer {
    let address: SocketAddr = address.parse().unwrap();
    Peer::new(address, Scheme::Https, Shutdown::new())
}

/// What the upstream gets of these headers, sorted.
fn forwarded(headers: &[(&str, &str)], peer: Option<&Peer>, trusted: &[&str]) -> Vec<String> {
    forwarded_in(ForwardedHeader::XForwardedFor, headers, peer, trusted)
}

fn forwarded_in(
    header: ForwardedHeader,
    headers: &[(&str, &str)],
    peer: Option<&Peer>,
    trusted: &[&str],
) -> Vec<String> {
    let trusted = trusted.iter().map(|text| Network::parse(text).unwrap()).collect();
    let mut parts = parts(headers);
    let upgrade = upgrade(&parts);
    let proxies = Proxies { trusted, header };
    let filter = CallerFilter::of(peer, &proxies, &Arc::default());
    toward_upstream(&mut parts, upgrade, peer, &proxies, &filter);
    let mut lines: Vec<String> = parts
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    lines.sort();
    lines
}

#[test]
fn what_belongs_to_one_connection_stays_behind() {
    let sent = [
        ("host", "a"),
        ("connection", "close, X-Hop"),
        ("connection", "x-other"),
        ("x-hop", "1"),
        ("x-other", "2"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic x"),
        ("te", "gzip"),
        ("upgrade", "websocket"),
        ("http2-settings", "AAA"),
        ("expect", "100-continue"),
        ("accept", "*/*"),
    ];
    assert_eq!(forwarded(&sent, None, &[]), ["accept: */*", "host: a"]);
}

#[test]
fn a_caller_cannot_take_away_what_frames_its_request() {
    let sent = [("host", "a"), ("connection", "host, content-length"), ("content-length", "5")];
    assert_eq!(forwarded(&sent, None, &[]), ["content-length: 5", "host: a"]);
}

#[test]
fn names_that_are_another_name_to_many_do_not_pass_however_many_they_are() {
    let names: Vec<String> = (0..100).map(|number| format!("x_forwarded_for_{number}")).collect();
    let mut sent: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    sent.push(("accept", "*/*"));
    assert_eq!(forwarded(&sent, None, &[]), ["accept: */*"]);
}

#[test]
fn of_te_only_trailers_pass() {
    assert_eq!(forwarded(&[("te", "gzip, Trailers"), ("connection", "te")], None, &[]), ["te: trailers"]);
}

#[test]
fn keys_pass_and_what_the_upstream_is_told_of_the_caller_cannot_be_taken_away() {
    let sent =
        [("x-api-key", "k"), ("x-sluicegate-account", "acct_1"), ("connection", "x-sluicegate-account")];
    assert_eq!(forwarded(&sent, None, &[]), ["x-api-key: k", "x-sluicegate-account: acct_1"]);
}

#[test]
fn a_stranger_cannot_say_where_it_comes_from() {
    let sent = [
        ("host", "a"),
        ("x-forwarded-for", "9.9.9.9"),
        ("x-forwarded-for", "8.8.8.8"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-host", "evil"),
    ];
    let expected =
        ["host: a", "x-forwarded-for: 10.0.0.7", "x-forwarded-host: a", "x-forwarded-proto: https"];
    assert_eq!(forwarded(&sent, Some(&peer("10.0.0.7:1234")), &["192.0.2.0/24"]), expected);
}

#[test]
fn a_trusted_proxy_is_believed_and_added() {
    let sent = [
        ("host", "a"),
        ("x-forwarded-for", "9.9.9.9"),
        ("x-forwarded-for", "8.8.8.8"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-host", "b"),
    ];
    let expected = [
        "host: a",
        "x-forwarded-for: 9.9.9.9, 8.8.8.8, 10.0.0.7",
        "x-forwarded-host: b",
        "x-forwarded-proto: http",
    ];
    assert_eq!(forwarded(&sent, Some(&peer("[::ffff:10.0.0.7]:1234")), &["10.0.0.0/8"]), expected);
    let silent = forwarded(&[("host", "a")], Some(&peer("10.0.0.7:1")), &["10.0.0.0/8"]);
    assert_eq!(silent[1..], ["x-forwarded-for: 10.0.0.7", "x-forwarded-host: a", "x-forwarded-proto: https"]);
}

#[test]
fn a_caller_cannot_take_away_what_its_proxy_said_of_it() {
    let sent = [
        ("connection", "X-Forwarded-For, x-forwarded-proto, X-Real-IP, x-hop"),
        ("x-forwarded-for", "9.9.9.9"),
        ("x-forwarded-proto", "http"),
        ("x-real-ip", "9.9.9.9"),
        ("x-hop", "1"),
    ];
    let expected = ["x-forwarded-for: 9.9.9.9, 10.0.0.7", "x-forwarded-proto: http", "x-real-ip: 9.9.9.9"];
    assert_eq!(forwarded(&sent, Some(&peer("10.0.0.7:1")), &["10.0.0.0/8"]), expected);
}

#[test]
fn of_the_two_headers_that_name_the_caller_the_chosen_one_is_continued_and_the_other_starts_anew() {
    let sent = [("forwarded", "for=9.9.9.9"), ("forwarded", "for=8.8.8.8"), ("x-forwarded-for", "7.7.7.7")];
    let said = |header, peer: &str, trusted| {
        let mut lines = forwarded_in(header, &sent, Some(&self::peer(peer)), &[trusted]);
        lines.retain(|line| !line.starts_with("x-forwarded-proto"));
        lines
    };
    let (trusted, stranger) = ("10.0.0.7:1", "192.0.2.1:1");
    let classic = ForwardedHeader::XForwardedFor;
    assert_eq!(said(classic, trusted, "10.0.0.0/8"), ["x-forwarded-for: 7.7.7.7, 10.0.0.7"]);
    assert_eq!(said(classic, stranger, "10.0.0.0/8"), ["x-forwarded-for: 192.0.2.1"]);
    let chosen = ForwardedHeader::Forwarded;
    assert_eq!(
        said(chosen, trusted, "10.0.0.0/8"),
        ["forwarded: for=9.9.9.9, for=8.8.8.8, for=10.0.0.7", "x-forwarded-for: 10.0.0.7"]
    );
    assert_eq!(
        said(chosen, stranger, "10.0.0.0/8"),
        ["forwarded: for=192.0.2.1", "x-forwarded-for: 192.0.2.1"]
    );
    assert_eq!(
        said(chosen, "[2001:db8::1]:1", "10.0.0.0/8"),
        ["forwarded: for=\"[2001:db8::1]\"", "x-forwarded-for: 2001:db8::1"]
    );
}

#[test]
fn only_upgrades_that_are_no_http_are_passed_on() {
    let wanted = |token: &str| upgrade(&parts(&[("connection", "keep-alive, Upgrade"), ("upgrade", token)]));
    assert_eq!(wanted("websocket").unwrap(), "websocket");
    assert_eq!(wanted("other/1").unwrap(), "other/1");
    for http in ["h2c", "H2C", "HTTP/2.0", "TLS/1.0", "websocket, h2c"] {
        assert_eq!(wanted(http), None, "{http}");
    }
    assert_eq!(upgrade(&parts(&[("upgrade", "websocket")])), None, "without Connection");
    let twice = [("connection", "upgrade"), ("upgrade", "websocket"), ("upgrade", "h2c")];
    assert_eq!(upgrade(&parts(&twice)), None);
}

#[test]
fn an_answer_leaves_behind_what_belongs_to_its_connection() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("x-sluicegate-mode", "degraded"),
        ("x-quota-remaining", "1000000"),
        ("x-ratelimit-remaining", "1"),
        ("x-kept", "1"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    toward_caller(&mut headers);
    let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
    left.sort_unstable();
    assert_eq!(left, ["x-kept", "x-ratelimit-remaining"]);
}

#[test]
fn headers_that_could_dodge_a_route_pass_from_trusted_proxies_alone() {
    let sent = [
        ("host", "a"),
        ("x-http-method-override", "DELETE"),
        ("x-original-url", "/admin"),
        ("accept", "*/*"),
    ];
    let stranger = peer("203.0.113.9:5");
    let left = |trusted: &[&str]| {
        let lines = forwarded(&sent, Some(&stranger), trusted);
        lines.iter().filter(|line| line.starts_with("x-http") || line.starts_with("x-orig")).count()
    };
    assert_eq!((left(&[]), left(&["203.0.113.0/24"])), (0, 2));
}

#[test]
fn trailers_say_nothing_that_headers_may_not() {
    let mut trailers = HeaderMap::new();
    for name in [
        "x-sluicegate-account",
        "x_sluicegate_account",
        "x-forwarded-for",
        "forwarded",
        "x-real-ip",
        "cf-connecting-ip",
        "x-http-method-override",
        "host",
        "content-length",
        "transfer-encoding",
        "x-checksum",
    ] {
        trailers.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
    }
    CallerFilter::Untrusted(Arc::default()).clean_trailers(&mut trailers);
    assert_eq!(trailers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-checksum"]);
}
