//! The hourly check: its cost follows new records, and it misses nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate_engine::books::Others;
use sluicegate_engine::{CallerRequest, Hold};
use sluicegate_ledger::{Kind, Record};

use super::{Bed, HOUR, PLANS, finish};
use crate::place::{Caller, NOW, at, costing, policy, request};

/// The cost of the hourly check follows what is new, and it finds what is wrong all the same.
#[test]
fn the_hourly_check_reads_new_records_only() {
    let bed = Bed::new(PLANS);
    let (monthly, daily, keyed) =
        (bed.place.caller("monthly"), bed.place.caller("daily"), bed.place.caller("keyed"));
    let check = || bed.runtime.block_on(bed.books.check()).unwrap();
    for _ in 0..300 {
        bed.admit(&monthly, 1, NOW);
        bed.admit(&daily, 2, at(1));
    }
    let first = check();
    assert_eq!((first.records, first.quotas, first.drifting), (600, 2, 0));
    let nothing_new = check();
    assert_eq!((nothing_new.records, nothing_new.quotas, nothing_new.drifting), (0, 0, 0));
    for second in 0..7 {
        bed.admit(&monthly, 3, at(10 + second));
    }
    bed.admit(&keyed, 5, at(20));
    let next = check();
    assert_eq!((next.records, next.quotas, next.drifting), (8, 2, 0), "what nobody used is not compared");
    // A record that no meter knows of.
    let lost = *bed.place.records().last().unwrap();
    bed.place.engine.spool().reserve().unwrap().append(&lost);
    let found = check();
    assert_eq!((found.records, found.drifting, found.units), (1, 1, 5));
    assert_eq!((check().records, check().drifting), (0, 1), "it stays wrong until it is set right");
    bed.runtime.block_on(bed.books.repair(None, &Others::new())).unwrap();
    assert_eq!((check().records, check().drifting), (0, 0));
    // Another tier: what was used under it is compared from then on.
    let (directory, monthly_tier) =
        (bed.place.engine.directory(), sluicegate_core::policy::TierName::new("monthly").unwrap());
    bed.runtime.block_on(directory.set_tier("acct-daily", monthly_tier, &crate::place::writer())).unwrap();
    bed.admit(&daily, 4, at(30));
    let moved = check();
    assert_eq!((moved.records, moved.drifting), (1, 0));
    bed.admit(&daily, 4, at(31));
    assert_eq!((check().records, check().drifting), (1, 0));
    assert_eq!(bed.drifting(), [], "reading everything finds the same");
    // A reload counts everything anew, once.
    bed.place.engine.reload(policy(PLANS)).unwrap();
    assert_eq!((check().records, check().records), (611, 0));
}

#[test]
fn the_hourly_check_goes_on_with_the_overage_it_has_counted() {
    let bed = Bed::new(PLANS);
    let metered = bed.place.caller("metered");
    let check = || bed.runtime.block_on(bed.books.check()).unwrap();
    bed.admit(&metered, 25, NOW);
    assert_eq!((check().quotas, check().drifting), (2, 0), "used, and overage");
    bed.admit(&metered, 7, at(HOUR));
    let held = CallerRequest { hold: Hold::Yes, ..request(&metered.key) };
    let permit = bed.place.ask(&costing(held, 10), at(HOUR + 1)).permit.unwrap();
    finish(&bed.place, &permit, 200, Some(4), at(HOUR + 2));
    let next = check();
    assert_eq!((next.records, next.quotas, next.drifting), (3, 2, 0));
    // Overage that is recorded and no meter knows of.
    let last = *bed.place.records().last().unwrap();
    let lost = Record { kind: Kind::Correction, cost: 0, overage: 9, ..last };
    bed.place.engine.spool().reserve().unwrap().append(&lost);
    let found = check();
    assert_eq!((found.records, found.drifting, found.units), (1, 2, 18), "by the meter, and by the rule");
    bed.runtime.block_on(bed.books.repair_and_bill(None, &Others::new())).unwrap();
    assert_eq!(check().drifting, 0);
    // Another month begins with none.
    bed.place.engine.clock().set(at(40 * 24 * HOUR));
    bed.admit(&metered, 21, at(40 * 24 * HOUR));
    let month = check();
    assert_eq!((month.records, month.drifting), (1, 0));
    bed.admit(&metered, 2, at(40 * 24 * HOUR + 1));
    assert_eq!((check().records, check().drifting), (1, 0));
    assert_eq!(bed.drifting(), [], "reading everything finds the same");
}

/// Accounts are used for the first time, and again, while it goes on: no record is missed, none counted twice.
#[test]
fn the_hourly_check_misses_nothing_while_requests_go_on() {
    let bed = Bed::new(PLANS);
    let tiers = ["monthly", "keyed", "metered", "daily"];
    let callers: Vec<Caller> = tiers.map(|tier| bed.place.caller(tier)).into();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for chunk in callers.chunks(2) {
            let (place, done) = (&bed.place, &done);
            scope.spawn(move || {
                for caller in chunk.iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                    place.ask(&request(&caller.key), NOW);
                }
            });
        }
        for _ in 0..40 {
            let check = bed.runtime.block_on(bed.books.check()).unwrap();
            if check.drifting > 0 {
                done.store(true, Ordering::Relaxed);
            }
            assert_eq!(check.drifting, 0, "{check:?}");
        }
        done.store(true, Ordering::Relaxed);
    });
    let last = bed.runtime.block_on(bed.books.check()).unwrap();
    assert_eq!((last.drifting, bed.drifting()), (0, vec![]));
}
