//! More than the upstream can do: the lowest priorities are refused first, and everybody gets something.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;

const POLICY: &str = "
tiers:
  low: {rate: 100_000, priority: 0}
  middle: {rate: 100_000, priority: 10}
  top: {rate: 100_000, priority: 20}
  internal: {bypass: true}
";

const WORKERS: usize = 4;
const SERVICE_TIME: Duration = Duration::from_millis(20);
/// Requests of the highest priority, one after the other, while the others send as fast as they are answered.
const TOP_REQUESTS: usize = 100;
const TOP_CALLERS: usize = 2;
const LOW_CALLERS: usize = 40;
/// Alone more than are let in before anything is learnt.
const MIDDLE_CALLERS: usize = 80;

/// An upstream that works on a few requests at a time.
fn upstream() -> Upstream {
    let free = Arc::new((Mutex::new(WORKERS), Condvar::new()));
    Upstream::start(move |_, mut stream| {
        let (workers, freed) = &*free;
        let mut idle = freed.wait_while(workers.lock().unwrap(), |idle| *idle == 0).unwrap();
        *idle -= 1;
        drop(idle);
        wait::pause(SERVICE_TIME);
        *workers.lock().unwrap() += 1;
        freed.notify_one();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    })
}

/// What callers of one tier were answered.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    served: usize,
    shed: usize,
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        let add = |sum: Self, one: Self| Self { served: sum.served + one.served, shed: sum.shed + one.shed };
        tallies.fold(Self::default(), add)
    }
}

impl Tally {
    fn send(&mut self, caller: &mut Caller, asked: &Asked) {
        let answer = caller.send(asked).unwrap();
        match answer.status {
            200 => self.served += 1,
            503 => {
                assert_eq!(answer.json()["error"], "overloaded", "{}", answer.text());
                let seconds = answer.number("Retry-After").unwrap();
                assert!((1..=8).contains(&seconds), "{seconds}");
                assert!(answer.header("RateLimit").is_some(), "it does not say what is left");
                self.shed += 1;
                // Sooner than it is told: somebody is always at the door.
                wait::pause(Duration::from_millis(10));
            }
            _ => panic!("{answer:?}"),
        }
    }
}

/// Sends until it is told to stop.
fn press(bed: &Bed, asked: &Asked, stop: &AtomicBool) -> Tally {
    let mut caller = Caller::new(bed.server.gateway());
    let mut tally = Tally::default();
    while !stop.load(Ordering::Relaxed) {
        tally.send(&mut caller, asked);
    }
    tally
}

fn times(bed: &Bed, asked: &Asked, count: usize) -> Tally {
    let mut caller = Caller::new(bed.server.gateway());
    let mut tally = Tally::default();
    (0..count).for_each(|_| tally.send(&mut caller, asked));
    tally
}

/// While this is there, callers go on.
struct Pressing<'s>(&'s AtomicBool);

impl Drop for Pressing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Callers<'s> = Vec<thread::ScopedJoinHandle<'s, Tally>>;

fn crowd<'s>(
    scope: &'s thread::Scope<'s, '_>,
    bed: &'s Bed,
    asked: &'s Asked,
    count: usize,
    stop: &'s AtomicBool,
) -> Callers<'s> {
    (0..count).map(|_| scope.spawn(move || press(bed, asked, stop))).collect()
}

fn sum(callers: Callers<'_>) -> Tally {
    callers.into_iter().map(|caller| caller.join().unwrap()).sum()
}

#[test]
fn the_lowest_priorities_are_refused_first_and_everybody_gets_something() {
    let policy = format!("{POLICY}shedding: {{target: 20ms}}\n");
    let upstream = upstream();
    let bed = Bed::start_with(&policy, |launch| launch.arg("--upstream").arg(upstream.url()));
    let [low, middle, top] = ["low", "middle", "top"].map(|tier| bed.customer(tier, tier));
    let token = bed.customer("ours", "internal");
    let [low_asks, middle_asks, top_asks] = [&low, &middle, &top].map(|key| Asked::get("/").key(key));
    let bypass = Asked::get("/").header("X-Service-Token", &token);
    let stop = AtomicBool::new(false);
    let (low_tally, middle_tally) = thread::scope(|scope| {
        // However this ends, nobody goes on for ever.
        let pressing = Pressing(&stop);
        let lows = crowd(scope, &bed, &low_asks, LOW_CALLERS, &stop);
        let middles = crowd(scope, &bed, &middle_asks, MIDDLE_CALLERS, &stop);
        let tops: Vec<_> =
            (0..TOP_CALLERS).map(|_| scope.spawn(|| times(&bed, &top_asks, TOP_REQUESTS))).collect();
        // Whoever asks for decisions is not refused because this gateway has much to do.
        assert_eq!(bed.check(&json!({"key": low})).json()["allowed"], true);
        assert_eq!(times(&bed, &bypass, 20).shed, 0, "a bypass was refused");
        let top: Tally = tops.into_iter().map(|top| top.join().unwrap()).sum();
        drop(pressing);
        assert_eq!((top.served, top.shed), (TOP_CALLERS * TOP_REQUESTS, 0), "of the highest priority");
        (sum(lows), sum(middles))
    });
    let tallies = format!("low {low_tally:?}, middle {middle_tally:?}");
    assert!(low_tally.shed > 0 && middle_tally.shed > 0, "too few to refuse anybody: {tallies}");
    assert!(middle_tally.served > low_tally.served, "{tallies}");
    assert!(low_tally.served >= 10, "the lowest got nothing: {tallies}");
    assert_eq!(shed_of(&bed, 0), low_tally.shed);
    assert_eq!(shed_of(&bed, 20), 0);
    // Nothing is held, and nobody is refused any more.
    assert_eq!(times(&bed, &low_asks, 20).shed, 0);
}

/// What the metrics say was refused of a priority.
fn shed_of(bed: &Bed, priority: u32) -> usize {
    let metrics = bed.admin(Asked::get("/metrics")).text();
    let name = format!("sluicegate_shed_total{{priority=\"{priority}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().unwrap())
}

#[test]
fn nobody_is_refused_where_load_is_not_shed() {
    let upstream = upstream();
    let bed = Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "low");
    let asked = Asked::get("/").key(&key);
    let tally: Tally = thread::scope(|scope| {
        let callers: Vec<_> = (0..100).map(|_| scope.spawn(|| times(&bed, &asked, 3))).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    assert_eq!((tally.served, tally.shed), (300, 0));
}
