//! Callers without a key, as the whole server tells them apart.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::server::{Launch, Server};

use crate::bed::{Bed, PROGRAM};

/// Says yes to every answer, and passes on what it was asked.
pub(crate) fn verifier() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = Vec::new();
            // Its last field ends it.
            while !request.windows(9).any(|part| part == b"&remoteip") {
                let mut piece = [0; 1_024];
                let length = stream.read(&mut piece).unwrap_or_default();
                if length == 0 {
                    break;
                }
                request.extend_from_slice(&piece[..length]);
            }
            let _ = tell.send(String::from_utf8(request).unwrap());
            let yes = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{\"success\":true}";
            let _ = stream.write_all(yes);
        }
    });
    (address, told)
}

fn policy(verifier: SocketAddr) -> String {
    format!(
        "server: {{trusted_proxies: [127.0.0.0/8]}}\n\
         identity:\n  anonymous: free\n  challenge: {{verify_url: 'http://{verifier}/', secret: env:OF_THE_TESTS}}\n\
         tiers: {{free: {{rate: 1/day, burst: 3}}}}\n"
    )
}

fn start(folder: &Path, policy: &str, session_secrets: &str) -> Server {
    let launch = Launch::new(PROGRAM, folder).policy(policy).variable("OF_THE_TESTS", "hunter2");
    let launch =
        launch.arg("--log").arg("debug").variable("SLUICEGATE_SECRET", "a secret that does not change");
    launch.variable("SLUICEGATE_SESSION_SECRET", session_secrets).start()
}

/// How many requests the caller with this cookie has left, after this one.
fn left(server: &Server, cookie: &str, address: &str) -> Option<u64> {
    let asked = Asked::get("/").header("Cookie", cookie).header("X-Forwarded-For", address);
    Caller::new(server.gateway()).send(&asked).unwrap().number("RateLimit-Remaining")
}

#[test]
fn a_session_outlives_a_change_of_the_secret_that_signed_it() {
    let (verifier, told) = verifier();
    let (folder, policy) = (tempfile::tempdir().unwrap(), policy(verifier));
    let mut server = start(folder.path(), &policy, "the-first-secret");
    let answered = Asked::new("POST", "/v1/sessions").json(&json!({"response": "right"}));
    let answer =
        Caller::new(server.decision()).send(&answered.header("X-Forwarded-For", "203.0.113.77")).unwrap();
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert!(told.recv().unwrap().ends_with("secret=hunter2&response=right&remoteip=203.0.113.77"));
    let cookie = answer.header("Set-Cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(left(&server, &cookie, "203.0.113.77"), Some(2));
    server.terminate();
    assert!(server.wait().success());

    let mut server = start(folder.path(), &policy, "the-second-secret the-first-secret");
    assert_eq!(left(&server, &cookie, "203.0.113.78"), Some(1), "it is the same client");
    server.terminate();
    assert!(server.wait().success());

    let mut server = start(folder.path(), &policy, "the-second-secret");
    assert_eq!(left(&server, &cookie, "203.0.113.79"), Some(2), "the cookie is as if it were not there");
    server.terminate();
    assert!(server.wait().success());
    no_trace(folder.path(), &["203.0.113.7", "hunter2", &cookie["sg_session=".len()..]]);
}

/// None of this is in any file that the server wrote, its log among them.
fn no_trace(folder: &Path, of: &[&str]) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_trace(&path, of);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        for text in of {
            let found = bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!found, "{text} is in {}", path.display());
        }
    }
}

#[test]
fn behind_a_proxy_that_speaks_its_protocol_callers_are_who_it_says() {
    let bed = Bed::start(
        "server: {trusted_proxies: [127.0.0.0/8], proxy_protocol: true}\n\
         identity: {anonymous: free}\ntiers: {free: {rate: 1/day, burst: 1}}\n",
    );
    let said = |header: &str| {
        let mut stream = TcpStream::connect(bed.server.gateway()).unwrap();
        let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n";
        stream.write_all(format!("{header}{request}").as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).chars().skip(9).take(3).collect::<String>()
    };
    assert_eq!(said("PROXY TCP4 203.0.113.1 127.0.0.1 1 80\r\n"), "200");
    assert_eq!(said("PROXY TCP4 203.0.113.1 127.0.0.1 2 80\r\n"), "429");
    assert_eq!(said("PROXY TCP4 203.0.113.2 127.0.0.1 1 80\r\n"), "200");
    assert_eq!(said("PROXY TCP6 2001:db8::1 ::1 1 80\r\n"), "200");
    assert_eq!(said("PROXY TCP6 2001:db8::2 ::1 1 80\r\n"), "429", "one /64 is one caller");
    assert_eq!(said("PROXY TCP6 ::ffff:203.0.113.2 ::1 1 80\r\n"), "429", "that is IPv4");
    assert_eq!(said(""), "", "without the header nobody is answered");
    assert_eq!(bed.check(&json!({})).status, 200, "other ports know nothing of it");
    assert!(bed.server.said().contains("does not start with its header"), "{}", bed.server.said());
}

#[test]
fn a_secret_that_is_not_there_is_missed_at_the_start() {
    let policy = policy(SocketAddr::from(([127, 0, 0, 1], 9)));
    let bed = Bed::start(&policy);
    assert!(bed.server.said().contains("the variable OF_THE_TESTS holds no secret"), "{}", bed.server.said());
}
