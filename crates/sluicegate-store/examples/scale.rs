//! Measures what must not grow: a decision for one key of an account with many keys, and how long a decision waits
//! while idle homes are swept. `cargo run --release -p sluicegate-store --example scale`.

#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::print_stdout, reason = "that is what it is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be set up should fail")]

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::settle::Readings;
use sluicegate_core::time::{Timestamp, Window};
use sluicegate_store::meters::MeterTable;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
const LATER: Timestamp = Timestamp::from_secs(1_800_000_060);
const HOMES: u64 = 4_000_000;

fn main() {
    for keys in [1, 100, 20_000] {
        println!("{keys} keys: {:?} for each decision", per_decision(keys));
    }
    sweep();
}

fn limit(name: &str, axis: Axis, rule: Rule) -> Limit {
    let name = LimitName::new(name).unwrap();
    let excess = Excess::Refuse(RefusalStatus::TooManyRequests);
    Limit { name, axis, per: Per::Key, rule, excess, sold: None }
}

fn limits() -> [Limit; 2] {
    let rate = TokenBucket::new(1_000_000, Window::SECOND, 1_000_000).unwrap();
    let daily = Windowed { limit: Amount::new(1 << 40).unwrap(), window: Window::DAY };
    [
        limit("rate", Axis::Rate, Rule::TokenBucket(rate)),
        limit("daily", Axis::Quota, Rule::FixedWindow(daily)),
    ]
}

fn charge(table: &MeterTable, home: u128, key: u32, limits: &[Limit], now: Timestamp) {
    let mut plan = ChargePlan::new(HomeId(home), now, Mode::Charge, SlotId(0));
    for limit in limits {
        let sharer = NonZeroU32::new(key).map_or(Sharer::ALL, Sharer::key);
        let (id, cost, due) = (table.enter(limit), Amount::ONE, Due::Admission);
        plan.add(Charge { limit, id, sharer, cost, period: None, due });
    }
    table.settle(&plan, &mut Readings::new());
}

fn per_decision(keys: u32) -> Duration {
    const DECISIONS: u32 = 400_000;
    let (table, limits) = (MeterTable::new(), limits());
    (1..=keys).for_each(|key| charge(&table, 1, key, &limits, NOW));
    let start = Instant::now();
    for number in 0..DECISIONS {
        charge(&table, 1, number.wrapping_mul(7_919) % keys + 1, &limits, NOW);
    }
    start.elapsed() / DECISIONS
}

/// Spreads small numbers over all bits, as the hash does with names.
fn spread(number: u64) -> u128 {
    u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

/// Sweeps four million homes, of which half are idle, while another thread decides; and nothing, for comparison: what
/// the machine does besides makes decisions wait as well.
fn sweep() {
    let (table, limits) = (MeterTable::new(), limits());
    for number in 0..HOMES {
        charge(&table, spread(number), 0, &limits[(number % 2) as usize..][..1], NOW);
    }
    beside(&table, &limits[1..], || {
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        "no sweep".to_owned()
    });
    beside(&table, &limits[1..], || format!("{:?}", table.sweep(LATER)));
}

/// How long decisions take while something else is done.
fn beside(table: &MeterTable, limits: &[Limit], work: impl FnOnce() -> String) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let decides = scope.spawn(|| {
            let (mut waits, mut number) = (Vec::with_capacity(1 << 24), 1_u64);
            while !done.load(Ordering::Relaxed) {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let start = Instant::now();
                charge(table, spread((number >> 20) % HOMES), 0, limits, LATER);
                waits.push(start.elapsed());
            }
            waits.sort_unstable();
            waits
        });
        let start = Instant::now();
        let what = work();
        let took = start.elapsed();
        done.store(true, Ordering::Relaxed);
        let waits = decides.join().unwrap();
        let at = |permille: usize| waits[(waits.len() - 1) * permille / 1_000];
        let long = waits.iter().filter(|wait| **wait > Duration::from_millis(1)).count();
        println!("{what} in {took:?}, beside {} decisions", waits.len());
        println!("  p50 {:?}, p99.9 {:?}, longest {:?}, {long} above 1 ms", at(500), at(999), at(1_000));
    });
}
