//! Places in flight: never more than there are, and each comes back however its request ends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sluicegate_testkit::http::{Asked, Caller, read_head};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;

const POLICY: &str = "tiers: {five: {concurrency: 5}, one: {concurrency: 1}}";

/// How many requests an upstream works on, and the most there ever were.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

fn start(upstream: Upstream) -> Bed {
    Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url()))
}

#[test]
fn never_more_than_five_are_at_the_upstream() {
    let gauge = Arc::new(Gauge::default());
    let counted = Arc::clone(&gauge);
    let upstream = Upstream::start(move |_, mut stream| {
        counted.enter();
        wait::pause(Duration::from_millis(10));
        // Not after the answer: with its last byte the place is free, and the next request may be here.
        counted.leave();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    });
    let bed = start(upstream);
    let key = bed.customer("acme", "five");
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let mut caller = Caller::new(bed.server.gateway());
                wait::until("a place is free", || {
                    let answer = caller.send(&Asked::get("/slow").key(&key)).unwrap();
                    match (answer.status, answer.json()["error"].as_str()) {
                        (200, _) => return Some(()),
                        (429, Some("concurrency_limited")) => refused.fetch_add(1, Ordering::SeqCst),
                        _ => panic!("{answer:?}"),
                    };
                    None
                });
            });
        }
    });
    let most = gauge.most.load(Ordering::SeqCst);
    assert!((2..=5).contains(&most), "{most} were at the upstream at once");
    assert!(refused.load(Ordering::SeqCst) > 0, "fifty at once were never too many");
    assert_eq!(bed.used("acme", "concurrency"), 0);
}

#[test]
fn places_come_back_when_callers_hang_up_in_the_middle_of_an_answer() {
    let gauge = Arc::new(Gauge::default());
    let counted = Arc::clone(&gauge);
    let upstream = Upstream::start(move |_, mut stream| {
        counted.enter();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf,");
        // Nothing more, until the other side goes away.
        let _ = stream.read_to_end(&mut Vec::new());
        counted.leave();
    });
    let bed = start(upstream);
    let key = bed.customer("acme", "five");
    let endless = Asked::get("/endless").key(&key);
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let mut caller = Caller::new(bed.server.gateway());
            caller.begin(&endless).unwrap();
            let mut stream = caller.into_stream().unwrap();
            assert_eq!(read_head(&mut stream).unwrap().status, 200);
            stream
        })
        .collect();
    assert_eq!(bed.used("acme", "concurrency"), 5);
    assert_eq!(bed.gateway(&endless).json()["error"], "concurrency_limited");
    drop(waiting);
    wait::until("all places are free", || (bed.used("acme", "concurrency") == 0).then_some(()));
    wait::until("the upstream is let go", || (gauge.now.load(Ordering::SeqCst) == 0).then_some(()));
}

#[test]
fn places_come_back_when_callers_hang_up_before_there_is_an_answer() {
    let gauge = Arc::new(Gauge::default());
    let counted = Arc::clone(&gauge);
    let upstream = Upstream::start(move |_, mut stream| {
        counted.enter();
        let _ = stream.read_to_end(&mut Vec::new());
        counted.leave();
    });
    let bed = start(upstream);
    let key = bed.customer("acme", "five");
    let mut waiting: Vec<Caller> = (0..5).map(|_| Caller::new(bed.server.gateway())).collect();
    waiting.iter_mut().for_each(|caller| caller.begin(&Asked::get("/silent").key(&key)).unwrap());
    wait::until("all are at the upstream", || (gauge.now.load(Ordering::SeqCst) == 5).then_some(()));
    assert_eq!(bed.used("acme", "concurrency"), 5);
    drop(waiting);
    wait::until("all places are free", || (bed.used("acme", "concurrency") == 0).then_some(()));
    wait::until("the upstream is let go", || (gauge.now.load(Ordering::SeqCst) == 0).then_some(()));
}

#[test]
fn a_websocket_keeps_its_place_until_it_is_closed() {
    let upstream = Upstream::start(|head, mut stream| {
        if !head.to_ascii_lowercase().contains("upgrade: websocket") {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        }
        let switched =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        let _ = stream.write_all(switched.as_bytes());
        let mut buffer = [0; 64];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let _ = stream.write_all(&buffer[..length]);
        }
    });
    let bed = start(upstream);
    let key = bed.customer("acme", "one");
    let mut caller = Caller::new(bed.server.gateway());
    let upgrade =
        Asked::get("/chat").key(&key).header("Connection", "Upgrade").header("Upgrade", "websocket");
    let upgrade =
        upgrade.header("Sec-WebSocket-Version", "13").header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    caller.begin(&upgrade).unwrap();
    let mut stream = caller.into_stream().unwrap();
    assert_eq!(read_head(&mut stream).unwrap().status, 101);
    for word in ["ping", "pong"] {
        stream.get_mut().write_all(word.as_bytes()).unwrap();
        let mut back = [0; 4];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, word.as_bytes());
        assert_eq!(bed.used("acme", "concurrency"), 1);
        let refused = bed.gateway(&Asked::get("/").key(&key));
        assert_eq!((refused.status, &refused.json()["error"]), (429, &"concurrency_limited".into()));
    }
    close(stream.get_ref());
    wait::until("the place is free", || (bed.used("acme", "concurrency") == 0).then_some(()));
    assert_eq!(bed.gateway(&Asked::get("/").key(&key)).status, 200);
}

/// The shortest lease that a policy can say is a second; the answer takes several.
#[test]
fn a_request_that_outlives_its_lease_keeps_its_place() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let upstream = Upstream::start(move |_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
        let _ = released.lock().map(|released| released.recv());
        let _ = stream.write_all(b"ok");
    });
    let policy = "tiers: {brief: {limits: {places: {algorithm: concurrency, limit: 1, lease: 2s}}}}";
    let bed = Bed::start_with(policy, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "brief");
    let long = Asked::get("/long").key(&key);
    let mut caller = Caller::new(bed.server.gateway());
    caller.begin(&long).unwrap();
    let mut stream = caller.into_stream().unwrap();
    assert_eq!(read_head(&mut stream).unwrap().status, 200);
    // Three times as long as the lease: the place ends by the clock of the server.
    for _ in 0..12 {
        assert_eq!(bed.used("acme", "places"), 1);
        assert_eq!(bed.gateway(&long).json()["error"], "concurrency_limited");
        wait::pause(Duration::from_millis(500));
    }
    release.send(()).unwrap();
    let mut body = [0; 2];
    stream.read_exact(&mut body).unwrap();
    assert_eq!(&body, b"ok");
    wait::until("the place is free", || (bed.used("acme", "places") == 0).then_some(()));
}

fn close(stream: &TcpStream) {
    stream.shutdown(Shutdown::Both).unwrap();
}
