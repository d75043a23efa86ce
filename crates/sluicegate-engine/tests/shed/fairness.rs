//! Between the accounts of one priority.

use crate::world::{MS, SECOND, Service, Source, World, hashed};

const UPSTREAMS: [(usize, Service); 3] =
    [(4, Service::Steady(10 * MS)), (16, Service::Spread(10 * MS)), (100, Service::Spread(10 * MS))];

/// One who wants twice what there is.
fn greedy(world: &World) -> Source {
    Source { account: hashed(10, 100), ..world.sources(10, 1, 200)[0] }
}

#[test]
fn a_greedy_account_has_as_much_as_the_others() {
    for (workers, service) in UPSTREAMS {
        let mut world = World::new(workers, service, 20, 1);
        // Nine who want a fifth each: there is a tenth for everybody.
        world.send(&[world.sources(10, 9, 180), vec![greedy(&world)]].concat());
        world.pass(10 * SECOND);
        world.pass(20 * SECOND);
        let capacity = world.capacity(20 * SECOND);
        let shares: Vec<u64> =
            world.of_sources().iter().map(|seen| seen.served() * 1_000 / capacity).collect();
        assert!(
            shares[..9].iter().all(|share| (75..=120).contains(share)),
            "{workers} {service:?}: {shares:?}"
        );
        assert!((75..=150).contains(&shares[9]), "{workers} {service:?}: {shares:?}");
    }
}

#[test]
fn a_greedy_account_takes_little_from_modest_ones() {
    for (workers, service) in UPSTREAMS {
        let mut world = World::new(workers, service, 20, 1);
        // Nine who want nearly their share, and one who wants a fifth of that: with the greedy one it is too much.
        let mut sources = [world.sources(10, 9, 90), vec![greedy(&world)]].concat();
        sources.push(Source { account: hashed(10, 101), ..world.sources(10, 1, 2)[0] });
        world.send(&sources);
        world.pass(10 * SECOND);
        world.pass(20 * SECOND);
        let capacity = world.capacity(20 * SECOND);
        let seen = world.of_sources();
        let shares: Vec<u64> = seen.iter().map(|seen| seen.served() * 1_000 / capacity).collect();
        assert!(shares[..9].iter().all(|share| *share >= 70), "{workers} {service:?}: {shares:?}");
        assert!(shares[9] <= 300, "{workers} {service:?}: {shares:?}");
        let modest = &seen[10];
        assert!(modest.shed * 4 <= modest.offered, "{service:?}: {} of {}", modest.shed, modest.offered);
    }
}

#[test]
fn more_accounts_than_places_have_about_as_much_each() {
    let mut world = World::new(16, Service::Spread(10 * MS), 20, 2);
    world.send(&world.sources(10, 400, 300));
    world.pass(10 * SECOND);
    world.pass(60 * SECOND);
    let mut served: Vec<u64> = world.of_sources().iter().map(|seen| seen.served()).collect();
    served.sort_unstable();
    let (few, many) = (served[served.len() / 20], served[served.len() * 19 / 20]);
    assert!(few * 2 >= many, "nine of ten had from {few} to {many}");
}

#[test]
fn an_account_that_is_alone_has_everything() {
    let mut world = World::new(16, Service::Spread(10 * MS), 20, 3);
    world.send(&world.sources(10, 1, 300));
    world.pass(10 * SECOND);
    world.pass(20 * SECOND);
    let served = world.of_sources()[0].served();
    assert!(served * 100 >= world.capacity(20 * SECOND) * 90, "{served}");
}
