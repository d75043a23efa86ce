//! Taking every connection, or every request in flight.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sluicegate_testkit::http::{Asked, Caller, connect};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::{Bed, slow};

/// Addresses of this machine that stand for different callers.
const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66));
const CUSTOMER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 7));

fn policy(connections: u32) -> String {
    format!(
        "server: {{max: {{connections: {connections}}}}}\nidentity: {{anonymous: free}}\n\
         tiers: {{free: {{rate: 100_000, burst: 100_000}}, pro: {{rate: 100_000, burst: 100_000}}}}\n"
    )
}

/// The memory that the server has now, in KiB, without the pages of its program.
fn resident_kib(bed: &Bed) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", bed.server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// So many connections of the attacker, each with one request that was answered.
fn flood(bed: &Bed, count: usize) -> Vec<TcpStream> {
    let one = || {
        let mut caller = Caller::from(ATTACKER, bed.server.gateway());
        caller.begin(&Asked::get("/")).ok()?;
        Some(caller.into_stream()?.into_inner())
    };
    (0..count).filter_map(|_| one()).collect()
}

#[test]
fn attack_40_ten_thousand_connections_of_one_address_leave_others_served_and_memory_returns() {
    let (connections, count) = if slow() { (10_000, 10_000) } else { (800, 1_200) };
    let limit = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).unwrap();
    let bed = Bed::start(&policy(connections));
    let key = bed.customer("acme", "pro");
    let customer = || Caller::from(CUSTOMER, bed.server.gateway());
    // Tables are made when the first caller of their kind comes.
    for _ in 0..100 {
        assert_eq!(customer().send(&Asked::get("/").key(&key)).unwrap().status, 200);
        assert_eq!(Caller::from(ATTACKER, bed.server.gateway()).send(&Asked::get("/")).unwrap().status, 200);
    }
    let before = resident_kib(&bed);
    let mut kept = customer();
    assert_eq!(kept.send(&Asked::get("/").key(&key)).unwrap().status, 200);
    let held = flood(&bed, count);
    for number in 0..100 {
        let answer = customer().send(&Asked::get("/").key(&key));
        assert_eq!(answer.unwrap().status, 200, "request {number} of a customer");
    }
    let kept_answer = kept.send(&Asked::get("/").key(&key)).unwrap();
    assert_eq!(kept_answer.status, 200, "a connection with a valid key is closed last");
    // The admin and the decision ports are reached as well.
    assert_eq!(bed.health()["status"], "ok");
    drop(held);
    wait::until("the memory is given back", || {
        let now = resident_kib(&bed);
        (now <= before + before / 5).then_some(())
    });
}

#[test]
fn attack_42_one_caller_behind_a_proxy_does_not_take_every_request_in_flight() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&arrived);
    let upstream = Upstream::start(move |head, mut stream| {
        if head.starts_with("GET /slow") {
            counted.fetch_add(1, Relaxed);
            let _ = stream.read(&mut [0; 1]);
        } else {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let bed = Bed::start(&format!(
        "server: {{upstream: \"{}\", trusted_proxies: [127.0.0.1/32], max: {{connections: 40}}}}\n\
         identity: {{anonymous: free}}\ntiers: {{free: {{rate: 100_000, burst: 100_000}}}}\n",
        upstream.url()
    ));
    let of = |caller: &str, path: &str| Asked::get(path).header("X-Forwarded-For", caller);
    let mut held = Vec::new();
    for _ in 0..30 {
        let mut caller = Caller::new(bed.server.gateway());
        caller.begin(&of("203.0.113.66", "/slow")).unwrap();
        held.push(caller);
    }
    wait::until("they are in flight", || (arrived.load(Relaxed) == held.len()).then_some(()));
    let refused = bed.gateway(&of("203.0.113.66", "/"));
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.json()["error"], "overloaded");
    assert_eq!(refused.header("retry-after"), Some("1"));
    for _ in 0..5 {
        assert_eq!(bed.gateway(&of("203.0.113.7", "/")).status, 200);
    }
    drop(held);
    wait::until("its requests have ended", || {
        (bed.gateway(&of("203.0.113.66", "/")).status == 200).then_some(())
    });
}

#[test]
fn attack_43_failures_that_a_caller_causes_write_one_line_a_second() {
    let nothing = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let bed = Bed::start(&format!(
        "server: {{upstream: \"http://{nothing}\"}}\nidentity: {{anonymous: free}}\n\
         tiers: {{free: {{rate: 100_000, burst: 100_000}}}}\n"
    ));
    let mut caller = Caller::new(bed.server.gateway());
    let started = bed.server.said().lines().count();
    for _ in 0..500 {
        assert_eq!(caller.send(&Asked::get("/")).unwrap().status, 502);
    }
    let said = bed.server.said();
    let lines = said.lines().count() - started;
    assert!((1..=60).contains(&lines), "{lines} lines for 500 failures:\n{said}");
}

#[test]
fn attack_44_a_server_without_descriptors_still_answers_its_operators() {
    // Connections that say nothing are not closed by themselves meanwhile.
    let bed = Bed::start(&policy(10_000).replace("{max:", "{timeouts: {header: 1h}, max:"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(bed.server.pid()).unwrap());
    // So few that the gateway can use them all up, whatever it was promised at start.
    let limit = Rlimit { current: Some(200), maximum: Some(200) };
    rustix::process::prlimit(pid, Resource::Nofile, limit).unwrap();
    let held: Vec<TcpStream> = (0..250).filter_map(|_| connect(bed.server.gateway()).ok()).collect();
    for _ in 0..5 {
        assert_eq!(bed.health()["status"], "ok");
        assert_eq!(bed.check(&serde_json::json!({"path": "/"})).status, 200);
    }
    drop(held);
}
