//! Random lives of requests: charged, held, finished with more or less, refunded, repeated, under tiers that change and
//! policies that are reloaded, over kills, restarts and wrong clocks. At every instant the meters, the ledger and a
//! statement that knows only the rules agree, and every bound holds.

mod life;
mod memory;
mod plans;
mod shared;
mod statement;
mod sums;

/// Worlds in a run, accounts in each, and turns of them. With `SLUICEGATE_SLOW=1` ten times as many worlds.
const WORLDS: u64 = 20;
const ACCOUNTS: usize = 500;
const TURNS: usize = 3_000;
/// In how many intervals a run checks the bound of the rate, at least.
const INTERVALS_MIN: u64 = 100_000;

#[expect(clippy::disallowed_methods, reason = "how many cases a run takes is said from outside")]
fn worlds() -> u64 {
    let slow = std::env::var_os("SLUICEGATE_SLOW").is_some();
    if slow { 10 * WORLDS } else { WORLDS }
}

#[test]
fn ten_thousand_lives_in_memory_are_exact() {
    let mut seen = std::collections::BTreeMap::<_, u64>::new();
    for seed in 0..worlds() {
        println!("seed {seed}");
        let mut world = memory::World::new(seed, ACCOUNTS);
        world.run(TURNS);
        for (what, count) in &world.counts {
            *seen.entry(*what).or_default() += count;
        }
    }
    println!("{seen:?}");
    for what in [
        "admitted",
        "finished again",
        "renewed",
        "repeated",
        "finished",
        "ended late",
        "rate_limited",
        "quota_exceeded",
        "concurrency_limited",
        "tier changes",
        "reloads",
        "changes taken back",
        "clock steps",
        "steps followed",
        "kills",
        "restarts",
    ] {
        assert!(seen.get(what).is_some_and(|count| *count > 10), "{what}: {seen:?}");
    }
    let intervals = seen.get("rate intervals").copied().unwrap_or(0);
    assert!(intervals > INTERVALS_MIN, "the bound of the rate was checked in {intervals} intervals");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_lives_on_two_nodes_and_redis_are_exact() {
    let mut world = shared::World::new(1, 10_000).await;
    world.phase(None).await;
    world.reload();
    world.phase(Some(0)).await;
    world.change_tiers().await;
    world.phase(Some(1)).await;
    world.reload();
    world.change_tiers().await;
    world.phase(None).await;
}
