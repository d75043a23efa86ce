//! Filling memory, and what is refused when it is full.

use std::time::Duration;

use sluicegate_core::plan::HomeId;
use sluicegate_store::hash::HomeHasher;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Client, Reply};

use super::{THREE, forwarded};
use crate::bed::Bed;

/// Room for few callers without a key.
fn small() -> Bed {
    Bed::start(&THREE.replace("server: {", "server: {max: {clients: 50}, "))
}

fn metric(bed: &Bed, name: &str) -> u64 {
    let text = bed.admin(Asked::get("/metrics")).text();
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn attack_10_callers_without_end_take_memory_with_an_end() {
    let bed = small();
    let mut caller = Caller::new(bed.server.gateway());
    for number in 0..2_000_u32 {
        let [_, _, high, low] = number.to_be_bytes();
        caller.send(&forwarded(&format!("203.0.{high}.{low}"))).unwrap();
    }
    // Each home that is shared stands for many; the number of those is fixed as well.
    assert!(metric(&bed, "sluicegate_crowded_total") > 1_800);
    assert!(metric(&bed, "sluicegate_homes") <= 2_000);
}

#[test]
fn attack_11_nobody_is_refused_because_a_table_is_full() {
    let bed = small();
    let key = bed.customer("acme", "pro");
    let mut caller = Caller::new(bed.server.gateway());
    let mut send = |asked: &Asked| caller.send(asked).unwrap().status;
    for number in 0..1_000_u32 {
        let [_, _, high, low] = number.to_be_bytes();
        assert_eq!(send(&forwarded(&format!("203.0.{high}.{low}"))), 200, "newcomer {number}");
    }
    assert_eq!([(); 4].map(|()| send(&Asked::get("/").key(&key))), [200, 200, 200, 429]);
}

#[test]
fn attack_26_names_of_limits_without_end_take_nobody_elses_place() {
    let policy = THREE.replace("server: {", "server: {max: {clients: 640}, ");
    let bed = Bed::start_with(&policy, |launch| launch.arg("--resp").arg("127.0.0.1:0"));
    let key = bed.customer("acme", "pro");
    let mut resp = Client::connect(bed.server.resp(), Duration::from_secs(20)).unwrap();
    let mut caller = Caller::new(bed.server.gateway());
    let mut send = |asked: &Asked| caller.send(asked).unwrap().status;
    assert_eq!(send(&Asked::get("/").key(&key)), 200);
    assert_eq!(send(&forwarded("203.0.113.1")), 200);
    // Both names and limits without end, and nobody is refused for that.
    for number in 0..20_000 {
        let (name, burst) = (format!("name {number}"), (number % 5_000).to_string());
        let reply = resp.ask(&["CL.THROTTLE", &name, &burst, "1", "3600"]).unwrap();
        assert!(matches!(&reply, Reply::List(items) if items[0] == Reply::Number(0)), "{name}: {reply:?}");
    }
    assert!(metric(&bed, "sluicegate_homes") <= 640 + 64);
    for expected in [200, 200, 429] {
        assert_eq!(send(&Asked::get("/").key(&key)), expected);
        assert_eq!(send(&forwarded("203.0.113.1")), expected);
    }
    // Clients that come now have meters of their own, too.
    let newcomer = forwarded("203.0.113.2");
    let crowded = metric(&bed, "sluicegate_crowded_total");
    assert_eq!([(); 4].map(|()| send(&newcomer)), [200, 200, 200, 429]);
    assert_eq!(metric(&bed, "sluicegate_crowded_total"), crowded);
}

#[test]
fn attack_16_nobody_knows_which_names_fall_together() {
    let homes = |secret: u8| {
        let hasher = HomeHasher::new([secret; 16]);
        move |name: u32| hasher.of_parts(&[b"client", &name.to_le_bytes()])
    };
    let (ours, theirs) = (homes(1), homes(2));
    let place = |home: HomeId| home.0 & 0xff;
    // What falls together under one secret falls apart under another.
    let first = place(ours(0));
    let together: Vec<u32> = (0..20_000).filter(|name| place(ours(*name)) == first).collect();
    assert!(together.len() > 50);
    let mut apart: Vec<u128> = together.iter().map(|name| place(theirs(*name))).collect();
    apart.sort_unstable();
    apart.dedup();
    assert!(apart.len() > together.len() / 3, "{} of {}", apart.len(), together.len());
}
