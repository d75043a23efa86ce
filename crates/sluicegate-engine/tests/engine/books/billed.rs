//! Recorded overage beside the rule, where the meters are in this process.

use sluicegate_core::policy::TierName;
use sluicegate_engine::books::{Measure, Others, Repaired};
use sluicegate_ledger::Kind;

use super::{Bed, HOUR, PLANS, lose_meters};
use crate::place::{NOW, at, writer};

fn repair(bed: &Bed) -> Repaired {
    bed.runtime.block_on(bed.books.repair_and_bill(None, &Others::new())).unwrap()
}

fn billed(records: i128, rule: u64) -> (String, String, i128, u64) {
    ("acct-metered".to_owned(), "quota:billed".to_owned(), records, rule)
}

#[test]
fn overage_that_a_lost_meter_did_not_bill_is_shown_and_recorded_by_a_repair() {
    let bed = Bed::new(PLANS);
    let metered = bed.place.caller("metered");
    bed.admit(&metered, 30, NOW);
    let bed = lose_meters(bed);
    bed.admit(&metered, 15, at(1));
    assert_eq!(bed.usage(None), (45, 10));
    // A repair by itself, as after a step of the clock, bills nothing.
    bed.runtime.block_on(bed.books.repair(None, &Others::new())).unwrap();
    assert_eq!((bed.usage(None), bed.drifting()), ((45, 10), vec![billed(10, 25)]));
    let check = bed.runtime.block_on(bed.books.check()).unwrap();
    assert_eq!((check.drifting, check.units), (1, 15));

    let repaired = repair(&bed);
    assert_eq!(repaired.repaired, 1, "{repaired:?}");
    assert!(repaired.compared.iter().any(|count| count.measure == Measure::Billed));
    let last = *bed.place.records().last().unwrap();
    assert_eq!((last.kind, last.cost, last.overage), (Kind::Correction, 0, 15));
    assert_eq!((bed.usage(None), bed.drifting()), ((45, 25), vec![]));
    assert_eq!(bed.runtime.block_on(bed.books.check()).unwrap().drifting, 0);
    assert_eq!(repair(&bed).repaired, 0, "once");
    bed.admit(&metered, 1, at(2));
    assert_eq!((bed.usage(None), bed.drifting()), ((46, 26), vec![]));
    let bed = bed.restart(PLANS);
    bed.admit(&metered, 1, at(3));
    assert_eq!((bed.usage(None), bed.drifting()), ((47, 27), vec![]));
}

#[test]
fn overage_that_was_recorded_and_not_used_is_given_back_by_a_repair() {
    let bed = Bed::new(PLANS);
    let metered = bed.place.caller("metered");
    bed.admit(&metered, 15, NOW);
    let wrong = *bed.place.records().last().unwrap();
    let wrong = sluicegate_ledger::Record { kind: Kind::Correction, cost: 0, overage: 8, ..wrong };
    bed.place.engine.spool().reserve().unwrap().append(&wrong);
    assert!(bed.drifting().contains(&billed(8, 0)), "{:?}", bed.drifting());
    repair(&bed);
    let last = *bed.place.records().last().unwrap();
    assert_eq!((last.kind, last.cost, last.overage), (Kind::Refund, 0, 8));
    assert_eq!((bed.usage(None), bed.drifting()), ((15, 0), vec![]));
}

#[test]
fn after_a_change_of_the_plan_what_was_recorded_is_kept() {
    const MORE: &str = "
tiers:
  metered: {rate: 1000, quota: 20, on_quota_exceeded: bill_overage}
  larger: {rate: 1000, quota: 40, on_quota_exceeded: bill_overage}
";
    let bed = Bed::new(MORE);
    let metered = bed.place.caller("metered");
    bed.admit(&metered, 25, NOW);
    let larger = TierName::new("larger").unwrap();
    let directory = bed.place.engine.directory();
    bed.runtime.block_on(directory.set_tier("acct-metered", larger, &writer())).unwrap();
    assert_eq!(bed.drifting(), [], "nothing was charged since");
    bed.admit(&metered, 20, at(HOUR));
    assert_eq!((bed.usage(None), bed.drifting()), ((45, 10), vec![]));
    let wrong = *bed.place.records().last().unwrap();
    let wrong = sluicegate_ledger::Record { kind: Kind::Correction, cost: 0, overage: 3, ..wrong };
    bed.place.engine.spool().reserve().unwrap().append(&wrong);
    assert!(bed.drifting().contains(&billed(13, 10)), "{:?}", bed.drifting());
    repair(&bed);
    assert_eq!((bed.usage(None), bed.drifting()), ((45, 10), vec![]));
}
