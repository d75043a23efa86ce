//! Filling memory, and what is refused when it is full.

use sluicegate_core::plan::HomeId;
use sluicegate_store::hash::HomeHasher;
use sluicegate_testkit::http::{Asked, Caller};

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
