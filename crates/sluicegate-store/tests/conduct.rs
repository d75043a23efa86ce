//! Refusals that are held against the caller, in memory: charged in the step that refuses, and in no other.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::file;
use sluicegate_core::limit_now::ConductNow;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::{Bucket, Conduct, Policy, Reputation};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{AccountCalendar, Charges, Plan, Request};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::meters::MeterTable;

const START: u32 = 1_790_000_000;
const ADMITTED: Outcome = Outcome::Admitted { overage: 0 };

/// A table, and a tier whose callers are watched.
struct Watch {
    table: MeterTable,
    policy: Policy,
    plan: Plan,
}

impl Watch {
    fn new(tier: &str) -> Self {
        let text = format!("tiers: {{a: {tier}}}\nreputation: {{}}\nblocks: {{after: 100, within: 1h}}");
        let (table, policy) = (MeterTable::new(), file::read(text.as_bytes()).unwrap().policy);
        let conduct = Conduct { reputation: policy.reputation, blocks: policy.blocks };
        let plan = unwatched(&table, &policy).with_conduct(&conduct, |limit| table.enter(limit));
        Self { table, policy, plan }
    }

    /// The plan for callers with such a reputation.
    fn plan_for(&self, bucket: Bucket) -> Plan {
        self.plan.squeezed(bucket.share(), |limit| self.table.enter(limit)).expecting(bucket)
    }

    fn ask(&self, plan: &Plan, mode: Mode, secs: u32) -> (Outcome, ConductNow) {
        let mut readings = Readings::new();
        let plan = plan.tariff.plan(&request(mode, secs));
        let outcome = self.table.settle(&plan, &mut readings);
        (outcome, ConductNow::of(&plan, &readings))
    }

    fn image(&self, secs: u32) -> Vec<u8> {
        let mut image = Vec::new();
        self.table.image_of(HomeId(7), Timestamp::from_secs(START + secs), &mut image, || ());
        image
    }
}

fn unwatched(table: &MeterTable, policy: &Policy) -> Plan {
    let tier = policy.tiers.iter().next().unwrap();
    Plan::new(tier, &AccountCalendar::default(), 1, |limit| table.enter(limit))
}

fn request(mode: Mode, secs: u32) -> Request {
    Request {
        home: HomeId(7),
        key: None,
        route: None,
        cost: Amount::ONE,
        now: Timestamp::from_secs(START + secs),
        mode,
        which: Charges::All,
        slot: SlotId(secs.into()),
    }
}

fn is_refused(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Refused { .. })
}

fn conduct(score: u8, strikes_left: u64) -> ConductNow {
    ConductNow { score: Some(score), strikes_left: Some(strikes_left) }
}

#[test]
fn who_is_admitted_has_no_meters_but_those_of_its_limits() {
    for tier in ["{rate: 5}", "{rate: 5, quota: 10}", "{rate: 5, concurrency: 9, quota: 10}"] {
        let watch = Watch::new(tier);
        let plain = unwatched(&watch.table, &watch.policy);
        watch.ask(&plain, Mode::Charge, 0);
        let before = watch.image(1);
        watch.table.sweep(Timestamp::from_secs(START + 100 * 86_400));
        let (outcome, now) = watch.ask(&watch.plan, Mode::Charge, 0);
        assert_eq!((outcome, now), (ADMITTED, conduct(100, 100)));
        assert_eq!(watch.image(1), before, "{tier}");
    }
}

#[test]
fn a_refusal_costs_points_and_a_strike_in_the_same_step() {
    for tier in ["{rate: 1/h, burst: 3}", "{rate: 9, quota: 3}", "{rate: 9, concurrency: 3, quota: 9}"] {
        let watch = Watch::new(tier);
        (0..3).for_each(|secs| assert_eq!(watch.ask(&watch.plan, Mode::Charge, secs).0, ADMITTED));
        for refusal in 1..=20_u8 {
            let (outcome, now) = watch.ask(&watch.plan, Mode::Charge, 3);
            assert!(is_refused(outcome), "{tier} {refusal}");
            assert_eq!(now, conduct(100 - 5 * refusal, 100 - u64::from(refusal)), "{tier}");
            let peeked = watch.ask(&watch.plan, Mode::Peek, 3);
            assert_eq!((is_refused(peeked.0), peeked.1), (true, now), "a peek is free");
        }
        assert_eq!(watch.ask(&watch.plan, Mode::Charge, 3).1, conduct(0, 79), "{tier}");
    }
}

#[test]
fn points_come_back_one_by_one_and_then_all_is_forgotten() {
    let watch = Watch::new("{rate: 1/h, burst: 1}");
    watch.ask(&watch.plan, Mode::Charge, 0);
    (0..4).for_each(|_| assert!(is_refused(watch.ask(&watch.plan, Mode::Charge, 0).0)));
    let score = |secs| watch.ask(&watch.plan, Mode::Peek, secs).1.score.unwrap();
    assert_eq!([score(0), score(599), score(600), score(11_999), score(12_000)], [80, 80, 81, 99, 100]);
    watch.table.sweep(Timestamp::from_secs(START + 11_999));
    assert_eq!((watch.table.homes(), score(11_999)), (1, 99));
    watch.table.sweep(Timestamp::from_secs(START + 12_000));
    assert_eq!(watch.table.homes(), 0);
}

#[test]
fn a_plan_for_another_standing_is_told_where_the_caller_is_and_changes_nothing() {
    let watch = Watch::new("{rate: 10/h, burst: 10, quota: 1000}");
    let plans = Bucket::ALL.map(|bucket| watch.plan_for(bucket));
    (0..10).for_each(|_| assert_eq!(watch.ask(&plans[0], Mode::Charge, 0).0, ADMITTED));
    let mut score = 100;
    for (plan, bucket) in plans.iter().zip(Bucket::ALL) {
        while bucket.scores().contains(&u64::from(score)) && score > 0 {
            let before = watch.image(0);
            for (other, wrong) in plans.iter().zip(Bucket::ALL).filter(|(_, wrong)| *wrong != bucket) {
                for mode in [Mode::Charge, Mode::Peek] {
                    let (outcome, now) = watch.ask(other, mode, 0);
                    assert_eq!(outcome, Outcome::Elsewhere { remaining: score.into() }, "{wrong:?}");
                    assert_eq!(now.score, Some(score));
                }
            }
            assert_eq!(watch.image(0), before, "not even what an edit would carry over");
            assert!(is_refused(watch.ask(plan, Mode::Charge, 0).0), "{bucket:?}");
            score -= Reputation::PENALTY_DEFAULT;
            assert_eq!(watch.ask(&watch.plan, Mode::Peek, 0).1.score, Some(score));
        }
    }
    assert_eq!(score, 0);
    // At its worst it has a tenth of the rate, one an hour, and still owes the ten: one of them is paid by then.
    let owes = Outcome::Refused { by: 0, retry_after: Nanos::from_secs(9 * 3_600) };
    assert_eq!(watch.ask(&plans[3], Mode::Charge, 3_600).0, owes);
}

#[test]
fn no_refusal_is_lost_or_counted_twice_by_many_threads() {
    let watch = Watch::new("{rate: 1/h, burst: 10}");
    let refused = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..12 {
                    if is_refused(watch.ask(&watch.plan, Mode::Charge, 0).0) {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(refused.load(Ordering::Relaxed), 8 * 12 - 10);
    assert_eq!(watch.ask(&watch.plan, Mode::Peek, 0).1, conduct(0, 100 - 86));
}
