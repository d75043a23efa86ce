//! Between the accounts of one priority.

use crate::world::{MS, SECOND, Service, Source, World, hashed};

const UPSTREAMS: [(usize, Service); 3] =
    [(4, Service::Steady(10 * MS)), (16, Service::Spread(10 * MS)), (100, Service::Spread(10 * MS))];

#[test]
fn a_greedy_account_takes_nothing_from_a_modest_one() {
    for (workers, service) in UPSTREAMS {
        let mut world = World::new(workers, service, 20, 1);
        // Nine who want a tenth each, one who wants two hundred times a percent, and one who wants two percent.
        let mut sources = world.sources(10, 9, 90);
        let percent = service.mean() * 100 / workers as u64;
        sources.push(Source { priority: 10, account: hashed(10, 100), gap: percent / 200 });
        sources.push(Source { priority: 10, account: hashed(10, 101), gap: percent / 2 });
        world.send(&sources);
        world.pass(10 * SECOND);
        world.pass(20 * SECOND);
        let seen = world.of_sources();
        let share = |source: usize| seen[source].served() * 1_000 / world.capacity(20 * SECOND);
        for source in 0..9 {
            assert!(share(source) >= 80, "{workers} {service:?}: {source} had {} of 1,000", share(source));
        }
        assert!(share(9) <= 160, "{workers} {service:?}: the greedy one had {} of 1,000", share(9));
        let modest = &seen[10];
        assert!(modest.shed * 20 <= modest.offered, "{service:?}: {} of {}", modest.shed, modest.offered);
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
