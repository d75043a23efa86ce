//! Getting around a route, or speaking in the name of the gateway.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller, connect, read_answer};
use sluicegate_testkit::upstream::Upstream;

use crate::bed::Bed;

const TIERS: &str = "tiers: {pro: {rate: 100_000, burst: 100_000}, internal: {bypass: true}}";

/// A gateway before this upstream.
fn before(upstream: &Upstream, server: &str, more: &str) -> Bed {
    Bed::start(&format!("server: {{upstream: \"{}\"{server}}}\n{more}\n{TIERS}\n", upstream.url()))
}

/// An upstream that answers with the head of each request.
fn echoing() -> Upstream {
    Upstream::start(|head, mut stream| {
        let length = head.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{head}");
        let _ = stream.write_all(answer.as_bytes());
    })
}

/// An upstream that answers every request with this.
fn answering(answer: &'static str) -> Upstream {
    Upstream::start(move |_, mut stream| {
        let _ = stream.write_all(answer.as_bytes());
    })
}

#[test]
fn attack_45_the_case_of_a_path_is_no_way_around_its_route() {
    let bed = Bed::start(
        "
routes:
  login: {match: \"POST /login\"}
  exact: {match: \"POST /Exact\", case: sensitive}
tiers: {pro: {limits: {logins: {algorithm: fixed_window, limit: 3/day, routes: [login, exact]}}}}
",
    );
    let key = bed.customer("acme", "pro");
    let post = |path: &str| bed.gateway(&Asked::new("POST", path).key(&key).body("")).status;
    assert_eq!(["/login", "/LOGIN", "/Login", "/lOgIn", "/%4cogin"].map(post), [200, 200, 200, 429, 429]);
    // Where the policy says so, another case is another path.
    assert_eq!(["/Exact", "/%45xact", "/exact"].map(post), [429, 429, 200]);
    // An empty segment with parameters is none at all to some upstreams.
    assert_eq!(["/;/login", "/;x=1/login", "/%3b/login", "/login/;x"].map(post), [400; 4]);
}

#[test]
fn attack_46_headers_that_override_method_path_or_caller_end_at_the_gateway() {
    let sent = [
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-HTTP-Method", "DELETE"),
        ("X-Method-Override", "DELETE"),
        ("X-Original-URL", "/admin"),
        ("X-Rewrite-URL", "/admin"),
        ("CF-Connecting-IP", "203.0.113.66"),
        ("True-Client-IP", "203.0.113.66"),
        ("X-Client-IP", "203.0.113.66"),
        ("X-Forwarded-Prefix", "/admin"),
        ("X-Forwarded-User", "root"),
    ];
    let reached = |server: &str| {
        let bed = before(&echoing(), server, "");
        let key = bed.customer("acme", "pro");
        let asked =
            sent.iter().fold(Asked::get("/").key(&key), |asked, (name, value)| asked.header(name, value));
        let told = bed.gateway(&asked).text().to_ascii_lowercase();
        assert!(told.starts_with("get / "), "{told}");
        sent.iter().filter(|(name, _)| told.contains(&format!("{}:", name.to_ascii_lowercase()))).count()
    };
    assert_eq!(reached(""), 0);
    assert_eq!(reached(", pass_headers: [x-http-method-override, x-client-ip]"), 2);
    assert_eq!(reached(", trusted_proxies: [127.0.0.1/32]"), sent.len());
}

#[test]
fn attack_47_trailers_say_nothing_about_the_caller() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let upstream = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let mut whole = String::new();
        // To the last chunk, and the empty line behind the trailers.
        while !(whole.contains("\r\n0\r\n") && whole.ends_with("\r\n\r\n")) {
            reader.read_line(&mut whole).unwrap();
        }
        let length = whole.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{whole}");
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    });
    let bed = Bed::start(&format!("server: {{upstream: \"http://{upstream}\"}}\n{TIERS}\n"));
    let key = bed.customer("acme", "pro");
    let names = "X-Sluicegate-Account, X-Forwarded-For, X-HTTP-Method-Override, X-Checksum";
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n\
         Trailer: {names}\r\n\r\n"
    );
    let trailers = "X-Sluicegate-Account: victim\r\nX-Forwarded-For: 203.0.113.66\r\nX-HTTP-Method-Override: DELETE\r\n\
                    X-Checksum: abc\r\n";
    let mut stream = connect(bed.server.gateway()).unwrap();
    stream.write_all(format!("{head}5\r\nhello\r\n0\r\n{trailers}\r\n").as_bytes()).unwrap();
    let told = read_answer(&mut BufReader::new(stream)).unwrap().0.text().to_ascii_lowercase();
    let (_, told) = told.split_once("\r\n\r\n").unwrap();
    assert!(told.contains("hello") && told.contains("x-checksum: abc"), "{told}");
    assert!(!told.contains("victim") && !told.contains("203.0.113.66") && !told.contains("delete"), "{told}");
}

#[test]
fn attack_48_trace_shows_nobody_what_the_gateway_adds() {
    let bed = before(&echoing(), "", "");
    let key = bed.customer("acme", "pro");
    let answer = bed.gateway(&Asked::new("TRACE", "/").key(&key));
    assert_eq!((answer.status, answer.json()["error"].as_str()), (405, Some("method_not_allowed")));
    assert!(answer.header("allow").is_some_and(|allow| !allow.contains("TRACE")));
}

#[test]
fn attack_49_an_upstream_does_not_speak_in_the_name_of_the_gateway() {
    let upstream = answering(
        "HTTP/1.1 200 OK\r\nX-Sluicegate-Mode: degraded\r\nX-Sluicegate-Account: victim\r\nX-Quota-Limit: 9\r\n\
         X-Quota-Remaining: 0\r\nX-Quota-Overage: 7\r\nX-RateLimit-Remaining: 1\r\nX-RateLimit-Limit: 2\r\n\
         Trailer: X-Quota-Used\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
         2\r\nok\r\n0\r\nX-Quota-Used: 7\r\n\r\n",
    );
    let bed = Bed::start(&format!(
        "server: {{upstream: \"{}\"}}\ntiers: {{pro: {{rate: 100, burst: 100, quota: 50}}}}\n",
        upstream.url()
    ));
    let key = bed.customer("acme", "pro");
    let mut caller = Caller::new(bed.server.gateway());
    caller
        .begin(&Asked::get("/").key(&key).header("TE", "trailers").header("Connection", "close, te"))
        .unwrap();
    let mut raw = String::new();
    caller.into_stream().unwrap().read_to_string(&mut raw).unwrap();
    let raw = raw.to_ascii_lowercase();
    assert!(!raw.contains("victim") && !raw.contains("x-sluicegate-mode"), "{raw}");
    assert!(raw.contains("x-quota-limit: 50") && raw.contains("x-quota-remaining: 49"), "{raw}");
    assert!(!raw.contains("x-quota-overage: 7") && !raw.contains("x-quota-used: 7"), "{raw}");
    assert!(raw.contains("x-ratelimit-remaining: 1\r\n"), "its stricter rate stands: {raw}");
}

#[test]
fn attack_50_an_upstream_changes_no_protocol_that_nobody_asked_for() {
    let upstream =
        answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello");
    let bed = before(&upstream, "", "");
    let key = bed.customer("acme", "pro");
    let answer = bed.gateway(&Asked::get("/").key(&key));
    assert_eq!((answer.status, answer.json()["error"].as_str()), (502, Some("bad_gateway")));
}

#[test]
fn attack_51_service_tokens_end_at_the_gateway() {
    let bed = before(&echoing(), "", "identity: {service_token: \"header:X-Internal\"}");
    let token = bed.customer("service", "internal");
    let told = bed.gateway(&Asked::get("/").header("X-Internal", &token)).text();
    assert!(told.starts_with("GET / "), "{told}");
    assert!(!told.to_ascii_lowercase().contains("x-internal") && !told.contains(&token), "{told}");
}

#[test]
fn attack_52_a_path_that_no_route_names_needs_the_default_scope() {
    let bed = Bed::start(&format!(
        "default_scope: everything\nroutes: {{search: {{match: /search, scope: search}}}}\n{TIERS}\n"
    ));
    bed.account("acme", "pro");
    let small = bed.key_with("acme", &json!({"scopes": ["search"]})).key;
    let large = bed.key_with("acme", &json!({"scopes": ["search", "everything"]})).key;
    let status = |key: &str, path: &str| bed.gateway(&Asked::get(path).key(key)).status;
    assert_eq!(
        [status(&small, "/search"), status(&small, "/internal"), status(&small, "/")],
        [200, 403, 403]
    );
    assert_eq!([status(&large, "/search"), status(&large, "/internal")], [200, 200]);
}
