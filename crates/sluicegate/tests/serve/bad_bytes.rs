//! Connections that misbehave: garbage, half requests, too much, too slowly. The server goes on.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

use sluicegate_testkit::http::{Answer, Asked, Caller, connect, read_answer};
use sluicegate_testkit::server::ADMIN_TOKEN;

use crate::bed::Bed;

/// A head has a second to come.
const POLICY: &str = "
server: {timeouts: {header: 1s}}
tiers: {pro: {rate: 1_000_000, quota: 1_000_000}}
";

fn ports(bed: &Bed) -> [SocketAddr; 3] {
    [bed.server.gateway(), bed.server.decision(), bed.server.admin()]
}

/// What comes back; nothing if the connection is closed without a word.
fn throw(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address).unwrap();
    // The server may have refused before all of it was sent.
    let _ = stream.write_all(bytes);
    read_answer(&mut BufReader::new(stream)).ok().map(|(answer, _)| answer)
}

/// All three ports answer as they should.
#[track_caller]
fn expect_alive(bed: &Bed, after: &str) {
    let key = "sg_live_000000000000_00000000000000000000000000000000000000";
    let answer = bed.gateway(&Asked::get("/").key(key));
    assert_eq!(answer.status, 403, "the gateway after {after}: {answer:?}");
    for address in [bed.server.decision(), bed.server.admin()] {
        let answer = Caller::new(address).send(&Asked::get("/health")).unwrap();
        assert_eq!(answer.status, 200, "after {after}: {answer:?}");
    }
}

fn garbage() -> Vec<(&'static str, Vec<u8>)> {
    let get = "GET / HTTP/1.1\r\nHost: a\r\n";
    let noise: Vec<u8> = (0..4_096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
    vec![
        ("noise", noise),
        ("zeros", vec![0; 4_096]),
        ("a TLS greeting", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(20)),
        ("HTTP/2 and then garbage", preface),
        ("a version of tomorrow", b"GET / HTTP/9.9\r\nHost: a\r\n\r\n".to_vec()),
        ("a header without a colon", format!("{get}nonsense\r\n\r\n").into_bytes()),
        ("a header with a space in its name", format!("{get}X Y: z\r\n\r\n").into_bytes()),
        ("a folded header", format!("{get}X: a\r\n b\r\n\r\n").into_bytes()),
        ("a NUL in a header", format!("{get}X: a\0b\r\n\r\n").into_bytes()),
        ("two lengths", format!("{get}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab").into_bytes()),
        ("a length that is none", format!("{get}Content-Length: -1\r\n\r\n").into_bytes()),
        ("a header of 100 KB", format!("{get}X: {}\r\n\r\n", "a".repeat(100_000)).into_bytes()),
        ("a head without an end", format!("{get}{}", "X: a\r\n".repeat(20_000)).into_bytes()),
        (
            "a path of 100 KB",
            format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(100_000)).into_bytes(),
        ),
        ("200 headers", format!("{get}{}\r\n", "X: a\r\n".repeat(200)).into_bytes()),
    ]
}

#[test]
fn garbage_is_refused_or_cut_off_on_every_port() {
    let bed = Bed::start(POLICY);
    for address in ports(&bed) {
        for (what, bytes) in garbage() {
            if let Some(answer) = throw(address, &bytes) {
                assert!((400..500).contains(&answer.status), "{what} at {address}: {answer:?}");
            }
        }
        expect_alive(&bed, "garbage");
    }
    assert!(!bed.server.said().contains("panicked"), "{}", bed.server.said());
}

#[test]
fn requests_that_can_be_read_in_two_ways_never_pass_the_gateway() {
    let bed = Bed::start(POLICY);
    let (one, other) = (bed.customer("one", "pro"), bed.customer("other", "pro"));
    let head = |target: &str, rest: &str| format!("GET {target} HTTP/1.1\r\nX-API-Key: {one}\r\n{rest}\r\n");
    let cases = [
        ("no host", head("/", ""), 400),
        ("two hosts", head("/", "Host: a\r\nHost: b\r\n"), 400),
        ("a strange coding", head("/", "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"), 400),
        ("dots", head("/a/../b", "Host: a\r\n"), 400),
        ("encoded dots", head("/a/%2e%2e/b", "Host: a\r\n"), 400),
        ("an encoded slash", head("/a%2fb", "Host: a\r\n"), 400),
        ("two slashes", head("//a", "Host: a\r\n"), 400),
        ("half a percent sign", head("/a%2", "Host: a\r\n"), 400),
        ("a long path", head(&format!("/{}", "a".repeat(9_000)), "Host: a\r\n"), 414),
        ("a huge body", head("/", "Host: a\r\nContent-Length: 9999999999999\r\n"), 413),
        ("two keys in one place", head("/", &format!("Host: a\r\nX-API-Key: {other}\r\n")), 400),
        ("two keys", head("/", &format!("Host: a\r\nAuthorization: Bearer {other}\r\n")), 400),
    ];
    for (what, bytes, status) in cases {
        let answer =
            throw(bed.server.gateway(), bytes.as_bytes()).unwrap_or_else(|| panic!("{what}: closed"));
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}: {answer:?}");
    }
    let strange = b"GET / HTTP/1.1\r\nHost: a\r\nX-API-Key: \xff\xfe\r\n\r\n";
    assert_eq!(throw(bed.server.gateway(), strange).unwrap().status, 403);
    assert_eq!((bed.used("one", "quota"), bed.used("other", "quota")), (0, 0));
    expect_alive(&bed, "ambiguity");
}

#[test]
fn bodies_that_are_too_large_are_refused_by_what_they_say_and_by_what_they_are() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "pro");
    let kind = "Content-Type: application/json\r\n";
    let heads = [
        (bed.server.gateway(), format!("POST / HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n"), 200 << 20),
        (bed.server.decision(), format!("POST /v1/check HTTP/1.1\r\nHost: a\r\n{kind}"), 2 << 20),
        (bed.server.decision(), format!("POST /v1/check/batch HTTP/1.1\r\nHost: a\r\n{kind}"), 8 << 20),
        (
            bed.server.admin(),
            format!("POST /admin/v1/accounts HTTP/1.1\r\nHost: a\r\n{kind}{}", token()),
            2 << 20,
        ),
    ];
    for (address, head, length) in heads {
        if address != bed.server.admin() {
            let said = throw(address, format!("{head}Content-Length: {length}\r\n\r\n").as_bytes());
            assert_eq!(said.map(|answer| answer.status), Some(413), "{head}");
        }
        // Without a length it shows only while it comes. Whoever goes on sending may not hear the answer.
        let piece = format!("100000\r\n{}\r\n", "a".repeat(0x10_0000)).repeat(9);
        let sent =
            throw(address, format!("{head}Transfer-Encoding: chunked\r\n\r\n{piece}0\r\n\r\n").as_bytes());
        if let Some(answer) = sent.filter(|_| address != bed.server.gateway()) {
            assert_eq!(answer.status, 413, "{head}: {answer:?}");
        }
    }
    expect_alive(&bed, "large bodies");
    assert_eq!(bed.get("/admin/v1/accounts")["items"].as_array().map(Vec::len), Some(1));
}

fn token() -> String {
    format!("Authorization: Bearer {ADMIN_TOKEN}\r\n")
}

#[test]
fn a_length_beside_chunks_does_not_reach_the_upstream() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "pro");
    let lengths = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n";
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n{lengths}\r\n");
    let answer = throw(bed.server.gateway(), format!("{head}2\r\nab\r\n0\r\n\r\n").as_bytes()).unwrap();
    if answer.status != 400 {
        // Then by its chunks, as the standard has it, and the upstream never learns that there was a length.
        let seen = answer.json();
        assert_eq!((answer.status, &seen["body_length"]), (200, &2.into()), "{answer:?}");
        assert_eq!(seen["headers"]["content-length"], serde_json::Value::Null);
    }
}

#[test]
fn heads_that_come_too_slowly_are_cut_off() {
    let bed = Bed::start(POLICY);
    let mut slow: Vec<TcpStream> = Vec::new();
    for address in ports(&bed) {
        for start in ["G", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", "PRI * HTTP/2.0\r\n"] {
            for _ in 0..20 {
                let mut stream = connect(address).unwrap();
                stream.write_all(start.as_bytes()).unwrap();
                slow.push(stream);
            }
        }
        // Not a word.
        slow.push(connect(address).unwrap());
    }
    // Others are served meanwhile.
    expect_alive(&bed, "half a request");
    for mut stream in slow {
        // A 408 or nothing, and then the end. Reading fails if that does not come.
        let mut said = Vec::new();
        if stream.read_to_end(&mut said).is_ok() && !said.is_empty() {
            assert!(said.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&said));
        }
    }
    expect_alive(&bed, "slow heads");
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "pro");
    let gateway = bed.server.gateway();
    let requests = (0..5).flat_map(|n| Asked::get(&format!("/{n}")).key(&key).bytes(gateway));
    let requests: Vec<u8> = requests.collect();
    let mut stream = connect(gateway).unwrap();
    stream.write_all(&requests).unwrap();
    let mut stream = BufReader::new(stream);
    for n in 0..5 {
        let (answer, _) = read_answer(&mut stream).unwrap();
        assert_eq!((answer.status, &answer.json()["path"]), (200, &format!("/{n}").into()));
    }
    assert_eq!(bed.used("acme", "quota"), 5);
}

#[test]
fn connections_that_are_half_open_or_dropped_harm_nobody() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "pro");
    for address in ports(&bed) {
        let post = Asked::new("POST", "/v1/check").key(&key).header("Content-Length", "1000").bytes(address);
        for length in [1, post.len() / 2, post.len()] {
            let mut stream = connect(address).unwrap();
            stream.write_all(&post[..length]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
            let mut stream = connect(address).unwrap();
            stream.write_all(&post[..length]).unwrap();
            drop(stream);
        }
    }
    expect_alive(&bed, "half-open connections");
    assert!(!bed.server.said().contains("panicked"), "{}", bed.server.said());
}
