//! Three times as much as the upstream can do, and what is left of it.

use std::collections::BTreeMap;

use crate::world::{MS, SECOND, Seen, Service, Source, World, all};

const LOW: u32 = 0;
const MIDDLE: u32 = 10;
const TOP: u32 = 20;

/// Upstreams of many kinds: workers, what a request takes, and the target in milliseconds.
const UPSTREAMS: [(usize, Service, u64); 8] = [
    (4, Service::Steady(10 * MS), 20),
    (4, Service::Spread(10 * MS), 20),
    (4, Service::Mixed(2 * MS, 50 * MS), 20),
    (16, Service::Spread(10 * MS), 5),
    (100, Service::Spread(10 * MS), 20),
    (100, Service::Steady(100 * MS), 10),
    (10, Service::Spread(100 * MS), 10),
    (8, Service::Spread(2 * MS), 1),
];

const SEEDS: u64 = 3;

fn three_priorities(world: &World, percents: [u64; 3]) -> Vec<Source> {
    let priorities = [LOW, MIDDLE, TOP].into_iter().zip(percents);
    priorities.flat_map(|(priority, percent)| world.sources(priority, 5, percent)).collect()
}

/// A world whose load was light for a while, and what 99 of 100 requests took then.
fn unloaded((workers, service, target_ms): (usize, Service, u64), seed: u64) -> (World, u64) {
    let mut world = World::new(workers, service, target_ms, seed);
    world.send(&three_priorities(&world, [10, 10, 10]));
    let p99 = all(&world.pass(20 * SECOND)).p99();
    (world, p99)
}

fn check_three_times(upstream: (usize, Service, u64), seed: u64) {
    let what = format!("{upstream:?}, seed {seed}");
    let (mut world, unloaded) = unloaded(upstream, seed);
    world.send(&three_priorities(&world, [120, 120, 60]));
    let learning = world.pass(5 * SECOND);
    assert_eq!(
        learning[&TOP].shed, 0,
        "{what}: the highest priority lost something while the limit was learnt"
    );
    let time = 20 * SECOND;
    let seen = world.pass(time);
    let (together, capacity) = (all(&seen), world.capacity(time));
    let percent = |seen: &Seen| seen.served() * 100 / capacity;
    assert!(percent(&together) >= 90, "{what}: the goodput is {} %", percent(&together));
    assert_eq!(seen[&TOP].shed, 0, "{what}: the highest priority lost something");
    let bound = 2 * unloaded + upstream.2 * MS;
    assert!(together.p99() <= bound, "{what}: 99 of 100 took up to {} of {bound}", together.p99());
    assert!(percent(&seen[&LOW]) >= 4, "{what}: the lowest got {} %", percent(&seen[&LOW]));
    assert!(percent(&seen[&LOW]) <= 12, "{what}: the lowest got {} %", percent(&seen[&LOW]));
    assert!(percent(&seen[&MIDDLE]) >= 20, "{what}: the middle got {} %", percent(&seen[&MIDDLE]));
}

#[test]
fn at_three_times_the_capacity_goodput_the_top_and_the_tail_are_kept() {
    for upstream in UPSTREAMS {
        for seed in 0..SEEDS {
            check_three_times(upstream, seed);
        }
    }
}

fn shed(seen: &BTreeMap<u32, Seen>) -> u64 {
    seen.values().map(|seen| seen.shed).sum()
}

#[test]
fn hardly_anybody_is_refused_below_the_capacity() {
    for upstream in UPSTREAMS {
        let (mut world, _) = unloaded(upstream, 7);
        world.send(&three_priorities(&world, [25, 25, 20]));
        let seen = world.pass(20 * SECOND);
        assert_eq!(seen[&TOP].shed, 0, "{upstream:?}");
        let offered = all(&seen).offered;
        assert!(shed(&seen) * 100 <= offered, "{upstream:?}: {} of {offered}", shed(&seen));
    }
}

#[test]
fn when_the_load_ends_nobody_is_refused_any_more() {
    for upstream in UPSTREAMS {
        let (mut world, _) = unloaded(upstream, 8);
        world.send(&three_priorities(&world, [120, 120, 60]));
        world.pass(10 * SECOND);
        world.send(&three_priorities(&world, [15, 15, 10]));
        world.pass(SECOND);
        let seen = world.pass(20 * SECOND);
        assert!(shed(&seen) * 200 <= all(&seen).offered, "{upstream:?}: {} are refused", shed(&seen));
    }
}

#[test]
fn the_highest_priority_can_be_too_much_on_its_own() {
    for upstream in UPSTREAMS {
        let (mut world, unloaded) = unloaded(upstream, 9);
        world.send(&[world.sources(TOP, 5, 300), world.sources(LOW, 5, 50)].concat());
        world.pass(10 * SECOND);
        let seen = world.pass(20 * SECOND);
        let capacity = world.capacity(20 * SECOND);
        let together = all(&seen);
        assert!(together.served() * 100 >= capacity * 90, "{upstream:?}: {}", together.served());
        assert!(seen[&LOW].served() * 100 >= capacity * 4, "{upstream:?}: no floor: {}", seen[&LOW].served());
        assert!(seen[&LOW].served() * 100 <= capacity * 12, "{upstream:?}: {}", seen[&LOW].served());
        let bound = 2 * unloaded + upstream.2 * MS;
        assert!(together.p99() <= bound, "{upstream:?}: {} of {bound}", together.p99());
    }
}

#[test]
fn one_priority_alone_is_kept_at_the_capacity_too() {
    for upstream in UPSTREAMS {
        let (mut world, unloaded) = unloaded(upstream, 10);
        world.send(&world.sources(MIDDLE, 5, 300));
        world.pass(10 * SECOND);
        let together = all(&world.pass(20 * SECOND));
        let capacity = world.capacity(20 * SECOND);
        assert!(together.served() * 100 >= capacity * 90, "{upstream:?}: {}", together.served());
        let bound = 2 * unloaded + upstream.2 * MS;
        assert!(together.p99() <= bound, "{upstream:?}: {} of {bound}", together.p99());
    }
}
