//! What versions have left behind whose meters knew no overage: what was billed stays billed, and usage goes on from
//! there.

use sluicegate_testkit::faketime::WallClock;
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::server::Launch;

use crate::bed::{Bed, PROGRAM};
use crate::fixtures::Fixtures;
use crate::nodes::launch;
use crate::overage::{charge, expect};

const FIXTURES: Fixtures = Fixtures("overage-by-request");
const POLICY: &str = "
tiers:
  plan: {rate: 100_000, burst: 100_000, quota: 10, on_quota_exceeded: bill_overage}
  owing: {rate: 1, burst: 20, quota: 1_000}
";
/// 2026-11-18T12:00:00Z: in the month in which the fixtures were made.
const NOON: i64 = 1_795_003_200;

fn goes_on(bed: &Bed, store: &str) {
    let (over, under) = (FIXTURES.key(store, "over"), FIXTURES.key(store, "under"));
    expect(bed, "over", &over, 15, 5);
    expect(bed, "under", &under, 3, 0);
    charge(bed, &over, 3);
    expect(bed, "over", &over, 18, 8);
    charge(bed, &under, 10);
    expect(bed, "under", &under, 13, 3);
}

#[test]
fn overage_that_a_data_directory_of_before_has_stays_and_grows() {
    let (folder, clock) = (FIXTURES.unpacked("embedded.tar.gz"), tempfile::tempdir().unwrap());
    let launch = Launch::new(PROGRAM, folder.path())
        .policy(POLICY)
        .variable("SLUICEGATE_SECRET", "a secret that all nodes of this test have")
        .wall_clock(&WallClock::reading(clock.path(), NOON));
    let mut bed = Bed::launched(launch, folder);
    goes_on(&bed, "embedded");
    bed.server.kill();
    bed.restart();
    expect(&bed, "over", &FIXTURES.key("embedded", "over"), 18, 8);
}

#[test]
fn overage_that_a_redis_of_before_has_stays_and_grows() {
    let (folder, clock) = (FIXTURES.unpacked("node.tar.gz"), tempfile::tempdir().unwrap());
    let clock = WallClock::reading(clock.path(), NOON);
    // Redis brings an allocator that libfaketime cannot be loaded with.
    let store = RedisLaunch::new(Engine::Valkey).wall_clock(&clock).start();
    FIXTURES.load_into(&store);
    let launch = launch(POLICY, &store.url(), folder.path()).wall_clock(&clock);
    let bed = Bed::launched(launch, folder);
    goes_on(&bed, "redis");
}
