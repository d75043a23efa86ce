//! How much is done while others may be waiting.

use std::cell::Cell;
use std::num::NonZeroU32;

use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Readings;
use sluicegate_core::time::{Timestamp, Window};

use super::METERS_AT_ONCE;
use crate::meters::MeterTable;
use crate::meters::entries::tests::{most_visits, steps};

thread_local! {
    /// Cells that were moved since the lock of a partition was taken, and the most that ever were.
    static MOVED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

pub(in crate::meters) fn lock_taken() {
    MOVED.set((0, MOVED.get().1));
}

pub(in crate::meters) fn cell_moved() {
    let (moved, most) = MOVED.get();
    MOVED.set((moved + 1, most.max(moved + 1)));
}

fn charge(table: &MeterTable, home: u128, window: Window) {
    charge_key(table, home, Sharer::ALL, "requests", window);
}

fn charge_key(table: &MeterTable, home: u128, sharer: Sharer, name: &str, window: Window) {
    let limit = Limit {
        name: LimitName::new(name).unwrap(),
        axis: Axis::Rate,
        per: Per::Account,
        rule: Rule::FixedWindow(Windowed { limit: Amount::ONE, window }),
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
        sold: None,
    };
    let mut plan = ChargePlan::new(HomeId(home), Timestamp::from_secs(1_000), Mode::Charge, SlotId(0));
    let (id, cost, due) = (table.enter(&limit), Amount::ONE, Due::Admission);
    plan.add(Charge { limit: &limit, id, sharer, cost, period: None, due });
    table.settle(&plan, &mut Readings::new());
}

#[test]
fn a_sweep_moves_few_cells_before_it_lets_others_have_the_partition() {
    const HOMES: u128 = 400_000;
    let table = MeterTable::new();
    for home in 0..HOMES {
        let home = home.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        charge(&table, home, if home % 4 == 0 { Window::DAY } else { Window::SECOND });
    }
    MOVED.set((0, 0));
    let swept = table.sweep(Timestamp::from_secs(1_010));
    assert!(swept.forgotten > 250_000, "{swept:?}");
    assert!((1..=1_024).contains(&MOVED.get().1), "{} cells at once", MOVED.get().1);
}

fn key(number: u32) -> Sharer {
    NonZeroU32::new(number).map_or(Sharer::ALL, Sharer::key)
}

/// A home with so many keys, each with a meter that counts for long and one that does not.
fn account(keys: u32) -> MeterTable {
    let table = MeterTable::new();
    for number in 1..=keys {
        charge_key(&table, 7, key(number), "daily", Window::DAY);
        charge_key(&table, 7, key(number), "rate", Window::SECOND);
    }
    table
}

#[test]
fn a_sweep_looks_at_few_meters_of_a_home_before_it_lets_others_have_it() {
    let table = account(20_000);
    most_visits();
    let swept = table.sweep(Timestamp::from_secs(1_010));
    assert_eq!((swept.kept, swept.forgotten), (1, 0));
    assert_eq!(most_visits(), METERS_AT_ONCE);
    assert_eq!(table.sweep(Timestamp::from_secs(200_000)).forgotten, 1);
    assert_eq!(most_visits(), METERS_AT_ONCE);
    assert_eq!(table.homes(), 0);
}

#[test]
fn a_decision_for_one_key_takes_as_many_steps_among_twenty_thousand_as_among_forty() {
    let most_steps = |keys| {
        let table = account(keys);
        let of_key = |number| {
            steps();
            charge_key(&table, 7, key(number), "daily", Window::DAY);
            charge_key(&table, 7, key(number), "rate", Window::SECOND);
            steps()
        };
        (1..=keys).map(of_key).max()
    };
    let among_forty = most_steps(40);
    assert!(among_forty.is_some_and(|steps| (2..=8).contains(&steps)), "{among_forty:?}");
    assert_eq!(most_steps(20_000), among_forty);
}
