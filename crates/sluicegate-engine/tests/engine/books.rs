//! The books of a node: usage by the hour, meters that agree with the records, files that are sealed, records that go.

mod billed;
mod hourly_check;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use jiff::tz::TimeZone;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::books::{Asked, CompareError, Others, QuotaCount};
use sluicegate_engine::{Books, CallerRequest, FinishError, Hold, Permit, Purpose};
use sluicegate_ledger::Hour;
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::quarter::ALL_QUARTERS;
use sluicegate_ledger::reconcile::Totals;
use sluicegate_ledger::usage::Step;
use sluicegate_store::alerts::{AlertState, Which};
use sluicegate_store::database::{Checkpoint, Database, MeterRow, PermitRows};
use sluicegate_store::directory::Page;
use sluicegate_testkit::dice::Dice;
use tokio::runtime::Runtime;

use crate::place::{Caller, NOW, Place, at, costing, header, policy, request};

const HOUR: u32 = 3_600;
const PLANS: &str = "
tiers:
  monthly: {rate: 1000, quota: 1_000_000, refund_on: 5xx, quota_window: calendar_month}
  daily: {rate: 1000, quota: 1_000_000, quota_window: sliding_day}
  keyed: {rate: 1000, quota: 1_000_000, quota_pool: key}
  metered: {rate: 1000, quota: 20, on_quota_exceeded: bill_overage}
routes: {search: {match: \"GET /search\", cost: 2}}
";

struct Bed {
    books: Arc<Books>,
    place: Place,
    runtime: Runtime,
}

impl Bed {
    fn new(text: &str) -> Self {
        Self::of(Place::new(text))
    }

    fn of(place: Place) -> Self {
        let runtime = Runtime::new().unwrap();
        let books = {
            let _entered = runtime.enter();
            Arc::new(Books::open(Arc::clone(&place.engine), place.dir()).unwrap())
        };
        Self { books, place, runtime }
    }

    /// The process ends as it should, and another starts.
    fn restart(self, text: &str) -> Self {
        let Self { books, place, runtime } = self;
        drop(runtime);
        drop(books);
        Self::of(place.restart(text))
    }

    fn quotas(&self) -> Vec<QuotaCount> {
        self.runtime.block_on(self.books.quotas(None, &Others::new())).unwrap()
    }

    /// Quotas that do not agree: account, limit, records, meter.
    fn drifting(&self) -> Vec<(String, String, i128, u64)> {
        let drifting = self.quotas().into_iter().filter(|count| count.drift() != 0);
        drifting.map(|it| (it.account.clone(), it.label(), it.records, it.meter.most)).collect()
    }

    fn usage(&self, account: Option<&str>) -> (i128, i128) {
        let account = account.map(str::to_owned);
        let asked = Asked {
            account,
            key: None,
            route: None,
            quarters: ALL_QUARTERS,
            step: Step::Hour,
            zone: TimeZone::UTC,
        };
        let usage = self.runtime.block_on(Arc::clone(&self.books).usage(&asked)).unwrap();
        (usage.sums.total(), usage.sums.net_overage())
    }

    fn admit(&self, caller: &Caller, cost: u64, now: Timestamp) {
        // The spool of these tests is small: it may be full for a moment.
        while !self.place.ask(&costing(request(&caller.key), cost), now).is_admitted() {
            self.place.engine.spool().flush().unwrap();
        }
    }

    fn used(&self, caller: &Caller, now: Timestamp) -> String {
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(&caller.key) };
        header(&self.place.ask(&peek, now), "X-Quota-Used").unwrap()
    }
}

#[test]
fn usage_is_told_at_once_by_account_and_beyond_the_quota() {
    let bed = Bed::new(PLANS);
    let (monthly, metered) = (bed.place.caller("monthly"), bed.place.caller("metered"));
    bed.admit(&monthly, 7, NOW);
    bed.admit(&metered, 30, at(1));
    assert_eq!(bed.usage(None), (37, 10));
    assert_eq!(bed.usage(Some("acct-monthly")), (7, 0));
    bed.place.engine.spool().flush().unwrap();
    bed.books.tend(at(2)).unwrap();
    bed.admit(&metered, 1, at(3));
    assert_eq!(bed.usage(Some("acct-metered")), (31, 11));
    let unknown = Asked { account: Some("nobody".to_owned()), ..all() };
    assert!(bed.runtime.block_on(bed.books.query(&unknown)).is_err());
}

fn all() -> Asked {
    Asked {
        account: None,
        key: None,
        route: None,
        quarters: ALL_QUARTERS,
        step: Step::Hour,
        zone: TimeZone::UTC,
    }
}

/// Some requests: charged, with other costs in the end, given back, of every kind of plan.
fn traffic(bed: &Bed, callers: &[Caller], dice: &mut Dice, from: u32, steps: u32) {
    for step in 0..steps {
        let now = at(from + step * 37);
        let caller = &callers[usize::try_from(dice.below(callers.len() as u64)).unwrap()];
        let path = if dice.below(2) == 0 { "/search" } else { "/other" };
        let held = CallerRequest { path, hold: Hold::Yes, ..request(&caller.key) };
        let held = if dice.below(3) == 0 { costing(held, 1 + dice.below(5)) } else { held };
        let Some(permit) = bed.place.ask(&held, now).permit else { continue };
        let (status, cost) = [(200, None), (503, None), (200, Some(9)), (200, Some(0))]
            [usize::try_from(dice.below(4)).unwrap()];
        finish(&bed.place, &permit, status, cost, now);
    }
}

/// The spool of these tests is small: it may be full for a moment.
fn finish(place: &Place, permit: &Permit, status: u16, cost: Option<u64>, now: Timestamp) {
    while place.engine.finish(permit, Some(status), cost, now) == Err(FinishError::Unavailable) {
        place.engine.spool().flush().unwrap();
    }
}

#[test]
fn meters_agree_with_the_records_whatever_was_refunded_corrected_moved_or_restarted() {
    let mut dice = Dice::new(11);
    let mut bed = Bed::new(PLANS);
    let mut callers: Vec<Caller> =
        ["monthly", "daily", "keyed", "metered"].map(|tier| bed.place.caller(tier)).into();
    callers.push(bed.place.key("acct-keyed", &[]));
    for round in 0..6 {
        traffic(&bed, &callers, &mut dice, round * 40 * HOUR, 300);
        bed.books.tend(bed.place.engine.now()).unwrap();
        assert_eq!(bed.drifting(), [], "round {round}");
        // The billed one with its overage.
        assert_eq!(bed.quotas().len(), 6);
        bed = bed.restart(PLANS);
        assert_eq!(bed.drifting(), [], "round {round}, restarted");
    }
    // Another plan in the middle of the month: what was used stays used.
    let other = sluicegate_core::policy::TierName::new("metered").unwrap();
    let directory = bed.place.engine.directory();
    bed.runtime.block_on(directory.set_tier("acct-monthly", other, &crate::place::writer())).unwrap();
    traffic(&bed, &callers, &mut dice, 250 * HOUR, 200);
    assert_eq!(bed.drifting(), []);
}

#[test]
fn meters_agree_with_the_records_while_requests_go_on() {
    let bed = Bed::new(PLANS);
    let callers: Vec<Caller> = ["monthly", "keyed", "metered"].map(|tier| bed.place.caller(tier)).into();
    let done = AtomicBool::new(false);
    // Until everybody has used something there is nothing to compare.
    let begun = Barrier::new(callers.len() + 1);
    std::thread::scope(|scope| {
        for caller in &callers {
            let (place, done, begun) = (&bed.place, &done, &begun);
            scope.spawn(move || {
                place.ask(&request(&caller.key), NOW);
                begun.wait();
                while !done.load(Ordering::Relaxed) {
                    let held = CallerRequest { hold: Hold::Yes, ..request(&caller.key) };
                    if let Some(permit) = place.engine.decide(&held, NOW).permit {
                        finish(place, &permit, 500, Some(3), NOW);
                    }
                }
            });
        }
        begun.wait();
        for _ in 0..25 {
            let drifting = bed.drifting();
            if !drifting.is_empty() {
                done.store(true, Ordering::Relaxed);
            }
            assert_eq!(drifting, []);
            // The billed one with its overage.
            assert_eq!(bed.quotas().len(), callers.len() + 1);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(bed.usage(None).0 > 0);
}

/// Has the checkpoint forget the meters of every home.
fn lose_meters(bed: Bed) -> Bed {
    let Bed { books, place, runtime } = bed;
    drop(runtime);
    drop(books);
    place.engine.save(place.engine.now()).unwrap();
    let position = place.engine.spool().tail().0;
    let homes: BTreeMap<u128, ()> = place.records().iter().map(|record| (record.home.0, ())).collect();
    let gone = |home| MeterRow { home, position: 0, expires_at: Timestamp::EPOCH, image: Vec::new() };
    let meters = homes.into_keys().map(gone).collect();
    let dir = place.dir().to_owned();
    Bed::of(place.reopen_after(PLANS, || {
        let database = Database::open(&dir.join("sluicegate.db")).unwrap();
        let checkpoint = Checkpoint {
            limits: Vec::new(),
            meters,
            idempotency: Vec::new(),
            permits: PermitRows::default(),
            position,
            now: NOW,
        };
        database.save_checkpoint(checkpoint).wait().unwrap();
    }))
}

#[test]
fn drift_fires_once_is_resolved_by_a_comparison_that_finds_none_and_fires_again() {
    let bed = Bed::new(PLANS);
    let monthly = bed.place.caller("monthly");
    bed.admit(&monthly, 7, NOW);
    let states = |bed: &Bed, now| -> Vec<AlertState> {
        bed.runtime.block_on(bed.books.check()).unwrap();
        bed.runtime.block_on(bed.place.engine.tend_alerts(now));
        let alerts = bed.place.engine.alerts().list(Page::default(), Which::All);
        let listed = bed.runtime.block_on(alerts).unwrap().items;
        assert!(listed.iter().all(|alert| alert.news.kind.as_str() == "ledger.drift"), "{listed:?}");
        listed.iter().map(|alert| alert.news.state()).collect()
    };
    assert_eq!(states(&bed, at(1)), []);
    let bed = lose_meters(bed);
    assert_eq!(states(&bed, at(2)), [AlertState::Firing]);
    let bed = bed.restart(PLANS);
    // Nobody has compared yet: it goes on.
    bed.runtime.block_on(bed.place.engine.tend_alerts(at(3)));
    assert_eq!(states(&bed, at(4)), [AlertState::Firing]);
    bed.runtime.block_on(bed.books.repair(None, &Others::new())).unwrap();
    assert_eq!(states(&bed, at(5)), [AlertState::Resolved]);
    let bed = lose_meters(bed);
    assert_eq!(states(&bed, at(6)), [AlertState::Firing, AlertState::Resolved]);
}

#[test]
fn a_meter_that_lost_usage_is_found_and_set_right_for_good() {
    let bed = Bed::new(PLANS);
    let (monthly, keyed) = (bed.place.caller("monthly"), bed.place.caller("keyed"));
    bed.admit(&monthly, 7, NOW);
    bed.admit(&keyed, 3, NOW);
    let bed = lose_meters(bed);
    assert_eq!(bed.used(&monthly, at(5)), "0");
    let quota = |account: &str, records| (account.to_owned(), "quota".to_owned(), records, 0);
    assert_eq!(bed.drifting(), [quota("acct-monthly", 7), quota("acct-keyed", 3)]);
    let check = bed.runtime.block_on(bed.books.check()).unwrap();
    assert_eq!((check.quotas, check.drifting, check.units), (2, 2, 10));
    assert_eq!(bed.books.state().unwrap().check, Some(check));

    let repaired = bed.runtime.block_on(bed.books.repair(None, &Others::new())).unwrap();
    assert_eq!((repaired.compared.len(), repaired.repaired), (2, 2));
    assert_eq!(bed.drifting(), []);
    assert_eq!((bed.used(&monthly, at(6)), bed.used(&keyed, at(6))), ("7".to_owned(), "3".to_owned()));
    // Nothing was used by it, so nothing is recorded.
    assert_eq!(bed.usage(None), (10, 0));
    let again = bed.runtime.block_on(bed.books.repair(None, &Others::new())).unwrap();
    assert_eq!(again.repaired, 0);
    let bed = bed.restart(PLANS);
    assert_eq!(bed.used(&monthly, at(7)), "7");
}

#[test]
fn a_refund_that_straddles_a_change_of_window_leaves_the_new_one_alone() {
    let bed = Bed::new(PLANS);
    let monthly = bed.place.caller("monthly");
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&monthly.key), 5) };
    let permit = bed.place.ask(&held, NOW).permit.unwrap();
    let daily = sluicegate_core::policy::TierName::new("daily").unwrap();
    let directory = bed.place.engine.directory();
    bed.runtime.block_on(directory.set_tier("acct-monthly", daily, &crate::place::writer())).unwrap();
    // Under the new window, what was used before is one charge of this moment. The request that ends is not in it.
    bed.admit(&monthly, 1, at(120));
    finish(&bed.place, &permit, 200, Some(1), at(121));
    assert_eq!(bed.usage(None), (2, 0));
    assert_eq!((bed.drifting(), bed.used(&monthly, at(122))), (vec![], "6".to_owned()));
}

#[test]
fn a_sliding_quota_that_counts_too_much_is_set_right_whenever_that_was_counted() {
    let bed = Bed::new(PLANS);
    let monthly = bed.place.caller("monthly");
    bed.admit(&monthly, 5, NOW);
    let daily = sluicegate_core::policy::TierName::new("daily").unwrap();
    let directory = bed.place.engine.directory();
    bed.runtime.block_on(directory.set_tier("acct-monthly", daily, &crate::place::writer())).unwrap();
    // More than a day old, and carried over all the same.
    bed.admit(&monthly, 1, at(30 * HOUR));
    bed.admit(&monthly, 1, at(30 * HOUR + 120));
    bed.place.engine.clock().set(at(30 * HOUR + 240));
    assert_eq!(bed.drifting(), [("acct-monthly".to_owned(), "quota".to_owned(), 2, 7)]);
    bed.runtime.block_on(bed.books.repair(None, &Others::new())).unwrap();
    assert_eq!((bed.drifting(), bed.used(&monthly, at(30 * HOUR + 241))), (vec![], "2".to_owned()));
}

#[test]
fn only_the_account_that_is_asked_for_is_set_right() {
    let bed = Bed::new(PLANS);
    let (monthly, keyed) = (bed.place.caller("monthly"), bed.place.caller("keyed"));
    bed.admit(&monthly, 7, NOW);
    bed.admit(&keyed, 3, NOW);
    let bed = lose_meters(bed);
    let asked = Asked { account: Some("acct-keyed".to_owned()), ..all() };
    let serial = bed.runtime.block_on(bed.books.query(&asked)).unwrap().account;
    let repaired = bed.runtime.block_on(bed.books.repair(serial, &Others::new())).unwrap();
    assert_eq!((repaired.compared.len(), repaired.repaired), (1, 1));
    assert_eq!(bed.used(&monthly, at(6)), "0");
    assert_eq!(bed.used(&keyed, at(6)), "3");
}

fn exporting(dir: &std::path::Path) -> String {
    format!("{PLANS}\nledger: {{retain: 60d, export: \"file://{}\"}}\n", dir.display())
}

#[test]
fn closed_hours_are_sealed_where_the_policy_says_and_agree_with_the_ledger() {
    let files = tempfile::tempdir().unwrap();
    let bed = Bed::new(&exporting(files.path()));
    let monthly = bed.place.caller("monthly");
    for hour in 0..3 {
        bed.admit(&monthly, 5 + u64::from(hour), at(hour * HOUR));
    }
    let now = at(2 * HOUR + 400);
    bed.books.tend(now).unwrap();
    let sealed = bed.runtime.block_on(bed.books.seal(now, |_| ())).unwrap();
    assert_eq!((sealed.hours, sealed.rows), (2, 2));
    let compared = bed.runtime.block_on(bed.books.compare_sealed(ALL_HOURS)).unwrap();
    assert_eq!((compared.objects, compared.differences.len(), compared.missing.len()), (2, 0, 0));
    let state = bed.books.state().unwrap();
    assert_eq!((state.sealed, state.unsealed, state.behind), (2, None, 0));
    // Somebody removes a file: that is said, and the other still agrees.
    let day = files.path().join("usage/v1/dt=2026-10-05");
    std::fs::remove_dir_all(day.join("hour=12")).unwrap();
    let compared = bed.runtime.block_on(bed.books.compare_sealed(ALL_HOURS)).unwrap();
    assert_eq!((compared.objects, &compared.missing), (1, &vec![Hour::of(NOW)]));
    assert_eq!(compared.differences, []);
    let again = bed.runtime.block_on(bed.books.seal_again(&compared.missing)).unwrap();
    assert_eq!((again.hours, again.rows), (1, 1));
    let compared = bed.runtime.block_on(bed.books.compare_sealed(ALL_HOURS)).unwrap();
    assert_eq!((compared.objects, compared.missing.len(), compared.damaged.len()), (2, 0, 0));
}

#[test]
fn a_bill_is_compared_by_the_hour_and_callers_without_a_key_are_on_none() {
    let bed = Bed::new(&format!("{PLANS}identity: {{anonymous: monthly}}\n"));
    let monthly = bed.place.caller("monthly");
    bed.admit(&monthly, 5, NOW);
    bed.place.ask(&crate::place::nobody(&http::HeaderMap::new()), at(1));
    let mut bill = Totals::default();
    bill.add("acct-monthly", Some(Hour::of(NOW)), 5);
    assert_eq!(bed.runtime.block_on(bed.books.compare_bill(ALL_HOURS, bill.clone())).unwrap(), []);
    bill.add("acct-monthly", Some(Hour::of(NOW)), 1);
    let differences = bed.runtime.block_on(bed.books.compare_bill(ALL_HOURS, bill)).unwrap();
    assert_eq!((differences[0].left, differences[0].right), (5, 6));
}

#[test]
fn records_go_when_they_are_old_and_not_before_the_meters_are_saved() {
    let bed = Bed::new(
        "tiers: {day: {rate: 1000, quota: 1_000_000, quota_window: calendar_day}}\nledger: {retain: 4d, raw: 4d}",
    );
    let caller = bed.place.caller("day");
    // Two segments are full.
    for _ in 0..600 {
        bed.admit(&caller, 1, NOW);
    }
    bed.books.tend(at(2 * HOUR)).unwrap();
    let later = at(30 * 24 * HOUR);
    bed.admit(&caller, 1, later);
    bed.books.tend(later).unwrap();
    bed.books.sign(later).unwrap();
    assert_eq!(bed.books.prune(later).unwrap().segments, 0);
    bed.place.engine.save(later).unwrap();
    assert_eq!(bed.books.prune(later).unwrap().segments, 2);
    assert_eq!(bed.place.engine.spool().first().0, 512);
    assert_eq!(bed.drifting(), []);
    // Quotas that are counted for longer than records are kept cannot be compared.
    bed.place.engine.reload(policy("tiers: {day: {rate: 1000, quota: 1_000_000}}")).unwrap();
    let compared = bed.runtime.block_on(bed.books.quotas(None, &Others::new()));
    assert!(matches!(compared, Err(CompareError::Forgotten)), "{compared:?}");
}
