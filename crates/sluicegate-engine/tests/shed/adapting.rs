//! Upstreams that change: the limit follows.

use crate::world::{MS, SECOND, Seen, Service, Source, World, all};

const UPSTREAMS: [(usize, Service, u64); 4] = [
    (8, Service::Steady(10 * MS), 20),
    (8, Service::Spread(10 * MS), 20),
    (100, Service::Spread(10 * MS), 20),
    (20, Service::Mixed(2 * MS, 50 * MS), 20),
];

fn overloaded(world: &World) -> Vec<Source> {
    [world.sources(0, 5, 120), world.sources(10, 5, 120), world.sources(20, 5, 30)].concat()
}

fn started((workers, service, target_ms): (usize, Service, u64), seed: u64) -> World {
    let mut world = World::new(workers, service, target_ms, seed);
    world.send(&overloaded(&world));
    world.pass(10 * SECOND);
    world
}

fn goodput_percent(world: &World, seen: &Seen, time: u64) -> u64 {
    seen.served() * 100 / world.capacity(time)
}

#[test]
fn half_of_the_capacity_is_used_without_a_queue() {
    for upstream in UPSTREAMS {
        let mut world = started(upstream, 1);
        let before = world.load.look().limit;
        world.set_workers(upstream.0 / 2);
        world.pass(5 * SECOND);
        let seen = world.pass(20 * SECOND);
        let all = all(&seen);
        assert!(goodput_percent(&world, &all, 20 * SECOND) >= 90, "{upstream:?}: {}", all.served());
        let after = world.load.look().limit;
        assert!(after * 4 <= before * 3, "{upstream:?}: the limit was {before} and is {after}");
        assert_eq!(seen[&20].shed, 0, "{upstream:?}");
    }
}

#[test]
fn twice_the_capacity_is_used_at_once() {
    for upstream in UPSTREAMS {
        let mut world = started(upstream, 2);
        world.set_workers(upstream.0 * 2);
        world.pass(5 * SECOND);
        let all = all(&world.pass(20 * SECOND));
        assert!(goodput_percent(&world, &all, 20 * SECOND) >= 90, "{upstream:?}: {}", all.served());
    }
}

#[test]
fn an_upstream_that_is_slow_and_not_busy_is_not_taken_for_one_with_a_queue() {
    for upstream in UPSTREAMS {
        let (workers, service, target_ms) = upstream;
        let mut world = World::new(workers, service, target_ms, 3);
        world.send(&[world.sources(0, 5, 5), world.sources(20, 5, 5)].concat());
        world.pass(10 * SECOND);
        // From a tenth of its capacity to half of it, without a request more.
        world.service = match service {
            Service::Steady(time) => Service::Steady(5 * time),
            Service::Spread(mean) => Service::Spread(5 * mean),
            Service::Mixed(short, long) => Service::Mixed(5 * short, 5 * long),
        };
        world.pass(10 * SECOND);
        let seen = all(&world.pass(20 * SECOND));
        assert!(seen.shed * 30 <= seen.offered, "{upstream:?}: {} of {}", seen.shed, seen.offered);
    }
}

#[test]
fn a_slower_upstream_is_learnt_while_it_is_overloaded() {
    for upstream in UPSTREAMS {
        let mut world = started(upstream, 4);
        world.service = match upstream.1 {
            Service::Steady(time) => Service::Steady(4 * time),
            Service::Spread(mean) => Service::Spread(4 * mean),
            Service::Mixed(short, long) => Service::Mixed(4 * short, 4 * long),
        };
        // As much as before of what the upstream can do now.
        world.send(&overloaded(&world));
        world.pass(20 * SECOND);
        let seen = all(&world.pass(20 * SECOND));
        assert!(goodput_percent(&world, &seen, 20 * SECOND) > 80, "{upstream:?}: {}", seen.served());
    }
}

#[test]
fn an_upstream_that_hangs_is_left_alone_and_comes_back() {
    for upstream in UPSTREAMS {
        let mut world = started(upstream, 5);
        let workers = world.set_workers(0);
        let seen = all(&world.pass(20 * SECOND));
        let most = seen.offered - seen.shed;
        assert!(most * 5 <= seen.offered, "{upstream:?}: {most} more were sent to an upstream that hangs");
        world.set_workers(workers);
        world.pass(10 * SECOND);
        let seen = all(&world.pass(20 * SECOND));
        assert!(goodput_percent(&world, &seen, 20 * SECOND) >= 90, "{upstream:?}: {}", seen.served());
    }
}
