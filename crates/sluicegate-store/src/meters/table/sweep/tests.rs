//! How much is done while others may be waiting.

use std::cell::Cell;

use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Readings;
use sluicegate_core::time::{Timestamp, Window};

use crate::meters::MeterTable;

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
    let limit = Limit {
        name: LimitName::new("requests").unwrap(),
        axis: Axis::Rate,
        per: Per::Account,
        rule: Rule::FixedWindow(Windowed { limit: Amount::ONE, window }),
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
    };
    let mut plan = ChargePlan::new(HomeId(home), Timestamp::from_secs(1_000), Mode::Charge, SlotId(0));
    let (id, cost, due) = (table.enter(&limit), Amount::ONE, Due::Admission);
    plan.add(Charge { limit: &limit, id, sharer: Sharer::ALL, cost, period: None, due });
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
