//! What is refused from memory, and what is asked.

use sluicegate_core::book::LimitId;
use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::policy::{Bypass, RefundOn, Tier, TierLimit, TierName};
use sluicegate_core::rule::Windowed;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{AccountCalendar, Request};
use sluicegate_core::time::Window;

use super::*;
use crate::redis::meters::NodeId;

const MILLI: u64 = 1_000_000;

fn plan(rule: Rule) -> Arc<Plan> {
    let excess = Excess::Refuse(RefusalStatus::TooManyRequests);
    let name = LimitName::new("quota").unwrap();
    let limit = Limit { name, axis: Axis::Quota, per: Per::Account, rule, excess, sold: None };
    let tier = Tier {
        name: TierName::new("tier").unwrap(),
        limits: vec![TierLimit { limit, routes: Vec::new() }],
        priority: 0,
        bypass: Bypass::No,
        refund_on: RefundOn::Nothing,
    };
    Arc::new(Plan::new(&tier, &AccountCalendar::default(), 1, |_| LimitId::from_number(0)))
}

fn per_hour() -> Arc<Plan> {
    plan(Rule::FixedWindow(Windowed { limit: Amount::new(10).unwrap(), window: Window::HOUR }))
}

fn owed(plan: &Arc<Plan>, home: u128, cost: u64, mode: Mode) -> Owed {
    let request = Request {
        home: HomeId(home),
        key: None,
        route: None,
        cost: Amount::new(cost).unwrap(),
        now: Timestamp::from_secs(1_790_000_000),
        mode,
        which: Charges::All,
        slot: SlotId(1),
    };
    Owed { plan: Arc::clone(plan), request, holder: NodeId(1), name: None, hold: None, billed: None }
}

fn settled(outcome: Outcome, next: u64) -> Settled {
    let mut readings = Readings::new();
    readings.push(Reading {
        used: 10,
        remaining: 0,
        overage: 0,
        next: Nanos(next * MILLI),
        reset: Nanos(next * MILLI),
    });
    Settled { outcome, readings, now: Timestamp::from_secs(1_790_000_000), repeats: None }
}

fn refused(millis: u64) -> Settled {
    settled(Outcome::Refused { by: 0, retry_after: Nanos(millis * MILLI) }, millis)
}

fn after(start: Instant, millis: u64) -> Instant {
    start + Duration::from_millis(millis)
}

/// Whoever was refused for this long.
fn known(millis: u64) -> (Refusals, Owed, Instant) {
    let (refusals, owed, start) = (Refusals::new(64), owed(&per_hour(), 1, 2, Mode::Charge), Instant::now());
    refusals.learn(&owed, &refused(millis), start, start);
    (refusals, owed, start)
}

#[test]
fn what_is_refused_again_shrinks_with_time_and_ends() {
    let (refusals, owed, start) = known(400);
    assert_eq!(refusals.find(&owed, start), Some(refused(400)));
    let later = refusals.find(&owed, after(start, 150)).unwrap();
    let expected = refused(250);
    assert_eq!((later.outcome, &later.readings), (expected.outcome, &expected.readings));
    assert_eq!(later.now.since(refused(400).now), Nanos(150 * MILLI));
    assert!(refusals.find(&owed, after(start, 399)).is_some());
    assert_eq!(refusals.find(&owed, after(start, 400)), None);
}

#[test]
fn nothing_is_believed_for_longer_than_a_second() {
    let (refusals, owed, start) = known(3_000_000);
    assert!(refusals.find(&owed, after(start, 999)).is_some());
    assert_eq!(refusals.find(&owed, after(start, 1_000)), None);
}

#[test]
fn only_the_very_same_question_is_answered() {
    let (refusals, owed, start) = known(400);
    let with = |change: fn(&mut Owed)| {
        let mut other = owed.clone();
        change(&mut other);
        refusals.find(&other, start)
    };
    assert!(with(|_| {}).is_some());
    assert_eq!(with(|owed| owed.request.cost = Amount::ONE), None);
    assert_eq!(with(|owed| owed.request.cost = Amount::new(11).unwrap()), None);
    assert_eq!(with(|owed| owed.request.key = Some(NonZeroU32::MIN)), None);
    assert_eq!(with(|owed| owed.request.route = Some(RouteIndex(1))), None);
    assert_eq!(with(|owed| owed.request.home = HomeId(2)), None);
    assert_eq!(
        with(|owed| owed.plan = per_hour()),
        None,
        "an equal plan is another: it may have been raised"
    );
}

#[test]
fn whatever_changes_the_home_makes_it_forget() {
    let admitted = settled(Outcome::Admitted { overage: 0 }, 400);
    let given_back = Mode::Refund { charged_at: Timestamp::EPOCH, reserved: Amount::ONE };
    for (mode, forgets) in
        [(Mode::Charge, true), (Mode::Force, true), (given_back, true), (Mode::Peek, false)]
    {
        let (refusals, owed, start) = known(400);
        let mut other = owed.clone();
        (other.request.mode, other.request.cost) = (mode, Amount::ONE);
        refusals.learn(&other, &admitted, start, start);
        assert_eq!(refusals.find(&owed, start).is_none(), forgets, "{mode:?}");
    }
}

#[test]
fn what_is_soon_over_or_does_not_end_by_waiting_is_not_kept() {
    let start = Instant::now();
    let slots = plan(Rule::Concurrency { limit: Amount::ONE, lease: Nanos::from_secs(60) });
    let never = settled(Outcome::NeverFits { by: 0 }, 400);
    let changing = settled(Outcome::Refused { by: 0, retry_after: Nanos(400 * MILLI) }, 3);
    let cases =
        [(per_hour(), refused(5)), (slots, refused(400)), (per_hour(), never), (per_hour(), changing)];
    for (plan, settled) in cases {
        let (refusals, owed) = (Refusals::new(64), owed(&plan, 1, 2, Mode::Charge));
        refusals.learn(&owed, &settled, start, start);
        assert_eq!(refusals.find(&owed, start), None, "{settled:?}");
    }
    let (refusals, peeked) = (Refusals::new(64), owed(&per_hour(), 1, 2, Mode::Peek));
    refusals.learn(&peeked, &refused(400), start, start);
    assert_eq!(refusals.find(&peeked, start), None);
}

#[test]
fn there_are_never_more_than_allowed() {
    let (refusals, plan, start) = (Refusals::new(64 * 8), per_hour(), Instant::now());
    for home in 0..1_000 {
        for cost in 1..=10 {
            refusals.learn(&owed(&plan, home, cost, Mode::Charge), &refused(400), start, start);
        }
    }
    let kept = || {
        let of_shard = |shard: &Shard| shard.0.lock().values().map(Vec::len).sum::<usize>();
        refusals.shards.iter().map(of_shard).sum::<usize>()
    };
    assert!(kept() <= 64 * 8 && kept() > 64, "{}", kept());
    // Those that are over make room.
    let (late, newcomer) = (after(start, 500), owed(&plan, 5_000, 1, Mode::Charge));
    refusals.learn(&newcomer, &refused(400), late, late);
    assert!(refusals.find(&newcomer, late).is_some());
    let nothing = Refusals::new(0);
    nothing.learn(&newcomer, &refused(400), late, late);
    assert_eq!(nothing.find(&newcomer, late), None);
}
