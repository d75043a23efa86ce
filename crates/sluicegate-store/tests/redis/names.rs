//! Requests with names: of those with one name, one is charged, whichever node brings it.

use std::collections::BTreeMap;

use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::rule::{Amount, LEASE_DEFAULT, Rule};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::redis::{
    Applied, Ask, CallError, HomeCall, NameUse, RequestName, Resolved, Seq, Settled,
};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, NODE, limit, monthly, plan, plan_of, rate};
use crate::on_each_engine;

on_each_engine!(
    a_repeat_is_charged_to_the_rate_alone_and_told_what_it_repeats,
    a_repeat_is_refused_by_the_rate_and_waits_for_that_alone,
    the_same_name_with_another_request_is_a_conflict_and_changes_nothing,
    a_refusal_keeps_no_name,
    a_name_lives_for_a_day_and_is_gone_by_itself,
    a_refund_forgets_the_name_of_its_own_decision_alone,
    what_is_forced_takes_the_name_over_and_shortens_no_day,
    of_many_in_one_call_one_is_charged,
    a_call_that_is_made_again_is_told_again_what_it_repeated,
    a_name_alone_is_kept_and_forgotten_without_any_meters,
    a_request_without_a_name_costs_no_command_more,
    names_come_and_go_as_in_a_model,
    a_repeat_after_failures_is_free_five_times_and_never_while_an_attempt_is_open,
    a_repeat_of_what_was_delivered_is_charged,
    a_name_of_the_upstreams_own_is_free_twenty_times,
    a_name_that_an_older_build_wrote_is_free_where_it_was_and_charged_elsewhere,
    names_beyond_the_cap_of_a_home_are_forgotten_the_oldest_first,
);

const HOME: HomeId = HomeId(1);
const KEY: &str = "sg1:{00000000000000000000000000000001}:i:0000000000000007";
const DAY: Nanos = Nanos::from_secs(86_400);

/// Gives back what was charged then.
fn back(charged_at: Timestamp, reserved: u64) -> Mode {
    Mode::Refund { charged_at, reserved: Amount::new(reserved).unwrap() }
}

fn start() -> Timestamp {
    Timestamp::from_secs(1_790_000_000)
}

fn name(request: u64, decision: u128) -> RequestName {
    RequestName { key: 7, request, decision, since: None, used: NameUse::Vouched }
}

/// The same with another use.
fn using(used: NameUse, name: RequestName) -> RequestName {
    RequestName { used, ..name }
}

fn refunded(request: u64, decision: u128) -> RequestName {
    using(NameUse::Refunded, name(request, decision))
}

fn call(
    bed: &Bed,
    seq: Seq,
    asks: &[(&ChargePlan<'_>, RequestName)],
    now: Option<Timestamp>,
) -> Result<Vec<Settled>, CallError> {
    let asks: Vec<Ask<'_>> =
        asks.iter().map(|(plan, name)| Ask { plan, holder: NODE, name: Some(*name), hold: None }).collect();
    let call = HomeCall { home: HOME, seq, asks: &asks };
    bed.runtime.block_on(async {
        match now {
            Some(now) => bed.meters.call_at(&call, now).await,
            None => bed.meters.call(&call).await,
        }
    })
}

fn ask(bed: &Bed, plan: &ChargePlan<'_>, name: RequestName) -> Settled {
    call(bed, bed.seq(), &[(plan, name)], None).unwrap().remove(0)
}

fn ask_at(bed: &Bed, plan: &ChargePlan<'_>, name: RequestName, now: Timestamp) -> Settled {
    call(bed, bed.seq(), &[(plan, name)], Some(now)).unwrap().remove(0)
}

/// What each limit has counted.
fn used(settled: &Settled) -> Vec<u64> {
    settled.readings.iter().map(|reading| reading.used).collect()
}

const ADMITTED: Outcome = Outcome::Admitted { overage: 0 };

/// A rate that gives nothing back while a test runs.
fn slow(burst: u64) -> Limit {
    let bucket =
        sluicegate_core::rule::TokenBucket::new(1, sluicegate_core::time::Window::DAY, burst).unwrap();
    limit("rate", Axis::Rate, Rule::TokenBucket(bucket))
}

fn a_repeat_is_charged_to_the_rate_alone_and_told_what_it_repeats(engine: Engine) {
    let bed = Bed::new(engine);
    let slots = Rule::Concurrency { limit: Amount::new(9).unwrap(), lease: LEASE_DEFAULT };
    let (rate, slots, quota) = (slow(20), limit("slots", Axis::Concurrency, slots), monthly(2));
    let limits = [&rate, &slots, &quota];
    let first = ask(&bed, &plan_of(1, &limits, 2, Mode::Charge, 1), name(5, 100));
    assert_eq!((first.outcome, first.repeats, used(&first)), (ADMITTED, None, vec![2, 1, 2]));
    for repeat in 2..5 {
        // The quota is spent, and does not refuse it.
        let settled = ask(&bed, &plan_of(1, &limits, 2, Mode::Charge, repeat), name(5, 200));
        assert_eq!((settled.outcome, settled.repeats), (ADMITTED, Some(100)));
        assert_eq!(used(&settled), [2 * repeat, repeat, 2]);
    }
    let other = RequestName { key: 8, ..name(5, 300) };
    let refused = ask(&bed, &plan_of(1, &limits, 2, Mode::Charge, 9), other);
    assert!(matches!(refused.outcome, Outcome::Refused { by: 2, .. }), "{refused:?}");
}

fn a_repeat_is_refused_by_the_rate_and_waits_for_that_alone(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(1, 2), monthly(1));
    let charge = plan(1, &[&rate, &quota], 1, Mode::Charge);
    assert_eq!(ask_at(&bed, &charge, name(5, 100), start()).outcome, ADMITTED);
    assert_eq!(ask_at(&bed, &charge, name(5, 200), start()).outcome, ADMITTED);
    let refused = ask_at(&bed, &charge, name(5, 300), start());
    // Not until the quota comes back, which is weeks away.
    assert_eq!(refused.outcome, Outcome::Refused { by: 0, retry_after: Nanos::from_secs(1) });
    assert_eq!(refused.repeats, Some(100));
    let later = ask_at(&bed, &charge, name(5, 400), start().plus(Nanos::from_secs(1)));
    assert_eq!((later.outcome, later.repeats), (ADMITTED, Some(100)));
}

fn the_same_name_with_another_request_is_a_conflict_and_changes_nothing(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (slow(20), monthly(10));
    let charge = plan(1, &[&rate, &quota], 1, Mode::Charge);
    ask(&bed, &charge, name(5, 100));
    let conflict = ask(&bed, &charge, name(6, 200));
    assert_eq!((conflict.outcome, conflict.repeats), (Outcome::Conflicts, None));
    assert_eq!(used(&conflict), [1, 1]);
    assert_eq!(ask(&bed, &charge, name(5, 300)).repeats, Some(100), "it is still the first one's");
}

fn a_refusal_keeps_no_name(engine: Engine) {
    let bed = Bed::new(engine);
    let (small, larger) = (monthly(1), monthly(10));
    bed.ask(&plan(1, &[&small], 1, Mode::Charge));
    let refused = ask(&bed, &plan(1, &[&small], 1, Mode::Charge), name(5, 100));
    assert!(matches!(refused.outcome, Outcome::Refused { .. }));
    assert_eq!(bed.server.ask(&["EXISTS", KEY]).text(), "0");
    let admitted = ask(&bed, &plan(1, &[&larger], 1, Mode::Charge), name(6, 200));
    assert_eq!((admitted.outcome, admitted.repeats, used(&admitted)), (ADMITTED, None, vec![2]));
}

fn a_name_lives_for_a_day_and_is_gone_by_itself(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(10);
    let charge = plan(1, &[&quota], 1, Mode::Charge);
    ask(&bed, &charge, name(5, 100));
    let millis: i64 = bed.server.ask(&["PTTL", KEY]).text().parse().unwrap();
    assert!((86_300_000..=86_400_000).contains(&millis), "{millis}");
    let bytes: u64 = bed.server.ask(&["MEMORY", "USAGE", KEY]).text().parse().unwrap();
    assert!(bytes <= 192, "{bytes}");
    bed.server.ask(&["FLUSHALL"]);
    // By the clock of the call, whatever the server's own has done meanwhile.
    assert_eq!(ask_at(&bed, &charge, name(5, 100), start()).repeats, None);
    let last = Timestamp::from_nanos(start().plus(DAY).as_nanos() - 1_000);
    assert_eq!(ask_at(&bed, &charge, name(5, 200), last).repeats, Some(100));
    let anew = ask_at(&bed, &charge, name(6, 300), start().plus(DAY));
    assert_eq!((anew.outcome, anew.repeats, used(&anew)), (ADMITTED, None, vec![2]));
}

fn a_refund_forgets_the_name_of_its_own_decision_alone(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(10);
    let charge = plan(1, &[&quota], 3, Mode::Charge);
    let charged = ask(&bed, &charge, name(5, 100));
    let refund = plan(1, &[&quota], 3, back(charged.now, 3));
    // Somebody else's refund gives back what it has to, and leaves the name alone.
    assert_eq!(used(&ask(&bed, &refund, refunded(5, 999))), [0]);
    assert_eq!(ask(&bed, &charge, name(5, 200)).repeats, Some(100));
    ask(&bed, &refund, refunded(5, 100));
    let anew = ask(&bed, &charge, name(6, 300));
    assert_eq!((anew.outcome, anew.repeats, used(&anew)), (ADMITTED, None, vec![3]));
}

fn what_is_forced_takes_the_name_over_and_shortens_no_day(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let (force, charge) = (plan(1, &[&quota], 3, Mode::Force), plan(1, &[&quota], 3, Mode::Charge));
    let hours = |hours: u32| start().plus(Nanos::from_secs(hours * 3_600));
    let told = |at, decision| RequestName { since: Some(at), ..name(5, decision) };
    assert_eq!(ask_at(&bed, &force, told(hours(0), 100), hours(20)).outcome, ADMITTED);
    // Both have happened, so both are charged. The first may be about to be undone: the name is no longer its own.
    assert_eq!(used(&ask_at(&bed, &force, told(hours(1), 200), hours(20))), [6]);
    let back = plan(1, &[], 1, back(hours(0), 1));
    ask_at(&bed, &back, refunded(5, 100), hours(21));
    assert_eq!(ask_at(&bed, &charge, name(5, 300), hours(24)).repeats, Some(200));
    assert_eq!(ask_at(&bed, &charge, name(5, 400), hours(25)).repeats, None);
    ask_at(&bed, &force, told(hours(23), 450), hours(26));
    assert_eq!(ask_at(&bed, &charge, name(5, 460), hours(48)).repeats, Some(450));
    assert_eq!(ask_at(&bed, &charge, name(5, 470), hours(49)).repeats, None);
    // What is told after its day is over leaves nothing behind.
    let late = RequestName { key: 9, ..told(hours(0), 500) };
    assert_eq!(ask_at(&bed, &force, late, hours(50)).outcome, ADMITTED);
    assert_eq!(ask_at(&bed, &charge, RequestName { key: 9, ..name(5, 600) }, hours(50)).repeats, None);
}

fn of_many_in_one_call_one_is_charged(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (slow(20), monthly(10));
    let charge = plan(1, &[&rate, &quota], 1, Mode::Charge);
    let asks = [(&charge, name(5, 100)), (&charge, name(5, 200)), (&charge, name(6, 300))];
    let settled = call(&bed, bed.seq(), &asks, None).unwrap();
    let repeats: Vec<_> = settled.iter().map(|settled| (settled.outcome, settled.repeats)).collect();
    assert_eq!(repeats, [(ADMITTED, None), (ADMITTED, Some(100)), (Outcome::Conflicts, None)]);
    assert_eq!(used(&settled[2]), [2, 1]);
}

fn a_call_that_is_made_again_is_told_again_what_it_repeated(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (slow(20), monthly(10));
    let charge = plan(1, &[&rate, &quota], 1, Mode::Charge);
    let first = bed.seq();
    for _ in 0..2 {
        let told = call(&bed, first, &[(&charge, name(5, 100))], None).unwrap();
        assert_eq!((told[0].outcome, told[0].repeats, used(&told[0])), (ADMITTED, None, vec![1, 1]));
    }
    let second = bed.seq();
    let asks = [(&charge, name(5, 200)), (&charge, name(6, 300))];
    for _ in 0..2 {
        let told = call(&bed, second, &asks, None).unwrap();
        assert_eq!((told[0].outcome, told[0].repeats), (ADMITTED, Some(100)));
        assert_eq!((told[1].outcome, used(&told[1])), (Outcome::Conflicts, vec![2, 1]));
    }
    let Resolved::Applied { plans, .. } = bed.resolve(HOME, second, bed.seq()).unwrap() else {
        panic!("it was made");
    };
    assert_eq!(plans, [Applied::Repeated, Applied::Refused]);
}

fn a_name_alone_is_kept_and_forgotten_without_any_meters(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(10);
    let charge = plan(1, &[&quota], 1, Mode::Charge);
    let seq = bed.seq();
    for _ in 0..2 {
        let told = call(&bed, seq, &[(&plan(1, &[], 1, Mode::Force), name(5, 100))], None).unwrap();
        assert_eq!((told[0].outcome, told[0].repeats), (ADMITTED, None));
    }
    assert_eq!(ask(&bed, &charge, name(5, 200)).repeats, Some(100));
    let back = plan(1, &[], 1, back(Timestamp::EPOCH, 1));
    ask(&bed, &back, refunded(5, 100));
    assert_eq!(used(&ask(&bed, &charge, name(5, 300))), [1]);
}

fn a_request_without_a_name_costs_no_command_more(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(1_000_000, 1_000_000), monthly(1_000_000));
    // In the common way, and in the general one.
    for limits in [&[&rate, &quota][..], &[&quota][..]] {
        bed.ask(&plan(1, limits, 1, Mode::Charge));
        bed.server.ask(&["CONFIG", "RESETSTAT"]);
        for _ in 0..10 {
            bed.ask(&plan(1, limits, 1, Mode::Charge));
        }
        let calls = |command: &str| {
            let stats = bed.server.ask(&["INFO", "commandstats"]).text();
            let line = stats.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:calls=")));
            line.map_or(0, |line| line.split(['=', ',']).nth(1).unwrap().parse::<u64>().unwrap())
        };
        assert_eq!((calls("get"), calls("setrange"), calls("set"), calls("del")), (10, 10, 0, 0));
    }
}

/// What a model remembers of a name.
struct Held {
    request: u64,
    decision: u128,
    until: Timestamp,
}

fn names_come_and_go_as_in_a_model(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(1_000_000, 1_000_000), limit("quota", Axis::Quota, monthly(30).rule));
    let mut dice = Dice::new(0x1d3e);
    let (mut now, mut spent) = (start(), 0);
    let mut names: BTreeMap<u64, Held> = BTreeMap::new();
    let mut charged: Vec<(RequestName, Timestamp)> = Vec::new();
    for decision in 1..600_u128 {
        now = now.plus(Nanos::from_secs(u32::try_from(dice.below(9_000)).unwrap()));
        let key = dice.below(6);
        let name = RequestName { key, ..name(dice.below(2), decision) };
        names.retain(|_, held| held.until > now);
        if dice.below(4) == 0 && !charged.is_empty() {
            let (name, at) = charged.remove(usize::try_from(dice.below(charged.len() as u64)).unwrap());
            let refund = plan(1, &[&rate, &quota], 1, back(at, 1));
            let settled = ask_at(&bed, &refund, using(NameUse::Refunded, name), now);
            if names.get(&name.key).is_some_and(|held| held.decision == name.decision) {
                names.remove(&name.key);
            }
            // Of the month before, nothing is given back.
            spent = settled.readings[1].used;
            continue;
        }
        let charge = plan(1, &[&rate, &quota], 1, Mode::Charge);
        let settled = ask_at(&bed, &charge, name, now);
        match names.get(&key) {
            Some(held) if held.request != name.request => assert_eq!(settled.outcome, Outcome::Conflicts),
            Some(held) => {
                assert_eq!((settled.outcome, settled.repeats), (ADMITTED, Some(held.decision)));
                assert!(settled.readings[1].used <= spent, "a repeat is not charged");
            }
            None if settled.outcome == ADMITTED => {
                assert_eq!(settled.repeats, None);
                names.insert(key, Held { request: name.request, decision, until: now.plus(DAY) });
                charged.push((name, now));
            }
            None => assert!(matches!(settled.outcome, Outcome::Refused { by: 1, .. }), "{settled:?}"),
        }
        spent = settled.readings[1].used;
    }
}

/// Tells how an attempt has ended.
fn end(bed: &Bed, used: NameUse, decision: u128) {
    let ended = plan(1, &[], 1, back(Timestamp::EPOCH, 1));
    ask(bed, &ended, using(used, name(5, decision)));
}

fn a_repeat_after_failures_is_free_five_times_and_never_while_an_attempt_is_open(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let charge = plan(1, &[&quota], 1, Mode::Charge);
    let attempt = |decision| ask(&bed, &charge, using(NameUse::AfterFailure, name(5, decision)));
    assert_eq!((attempt(100).repeats, attempt(200).repeats), (None, None), "the first is still open");
    end(&bed, NameUse::Failed, 100);
    assert_eq!(attempt(300).repeats, None, "another one is");
    end(&bed, NameUse::Failed, 200);
    end(&bed, NameUse::Failed, 300);
    for free in 0..5 {
        let repeat = attempt(400 + free);
        assert_eq!((repeat.outcome, repeat.repeats, used(&repeat)), (ADMITTED, Some(300), vec![3]));
        end(&bed, NameUse::Failed, 300);
    }
    let charged = attempt(500);
    assert_eq!((charged.repeats, used(&charged)), (None, vec![4]));
}

fn a_repeat_of_what_was_delivered_is_charged(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let charge = plan(1, &[&quota], 1, Mode::Charge);
    let attempt = |decision| ask(&bed, &charge, using(NameUse::AfterFailure, name(5, decision)));
    attempt(100);
    end(&bed, NameUse::Delivered, 100);
    assert_eq!(used(&attempt(200)), [2]);
    end(&bed, NameUse::Failed, 200);
    assert_eq!(used(&attempt(300)), [3], "an earlier one was delivered");
    end(&bed, NameUse::Refunded, 300);
    let first = attempt(400);
    end(&bed, NameUse::Failed, 400);
    assert_eq!(
        (first.repeats, attempt(500).repeats),
        (None, Some(400)),
        "a name that was given back is forgotten"
    );
    // What is forced has happened; how it has ended, nobody knows.
    ask(&bed, &plan(1, &[&quota], 1, Mode::Force), name(5, 600));
    end(&bed, NameUse::Failed, 400);
    assert_eq!(attempt(700).repeats, None);
}

fn a_name_of_the_upstreams_own_is_free_twenty_times(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let charge = plan(1, &[&quota], 1, Mode::Charge);
    let attempts: Vec<u64> = (0..25)
        .map(|decision| used(&ask(&bed, &charge, using(NameUse::Free, name(5, decision))))[0])
        .collect();
    assert_eq!(attempts[20], 1, "one charge, twenty repeats");
    assert_eq!(attempts[21..], [2, 3, 4, 5]);
}

fn a_name_that_an_older_build_wrote_is_free_where_it_was_and_charged_elsewhere(engine: Engine) {
    for (used, expected) in
        [(NameUse::Vouched, Some(100)), (NameUse::Free, Some(100)), (NameUse::AfterFailure, None)]
    {
        let bed = Bed::new(engine);
        let quota = monthly(100);
        let charge = plan(1, &[&quota], 1, Mode::Charge);
        ask(&bed, &charge, name(5, 100));
        // Older builds knew no more than the request, the decision, and until when.
        bed.server.ask(&[
            "EVAL",
            "redis.call('SET', KEYS[1], string.sub(redis.call('GET', KEYS[1]), 1, 32), 'KEEPTTL')",
            "1",
            KEY,
        ]);
        assert_eq!(ask(&bed, &charge, using(used, name(5, 200))).repeats, expected, "{used:?}");
    }
}

fn names_beyond_the_cap_of_a_home_are_forgotten_the_oldest_first(engine: Engine) {
    const CAP: u64 = 1 << 16;
    const MORE: u64 = 1_000;
    let (bed, quota) = (Bed::new(engine), monthly(10_000_000));
    let asked = plan(1, &[&quota], 1, Mode::Charge);
    let names: Vec<u64> = (1..=CAP + MORE).collect();
    let named = |key: u64| RequestName { key, ..name(1, u128::from(key)) };
    for (second, keys) in (0..).zip(names.chunks(250)) {
        let asks: Vec<_> = keys.iter().map(|key| (&asked, named(*key))).collect();
        let now = start().plus(Nanos::from_secs(second));
        call(&bed, bed.seq(), &asks, Some(now)).unwrap();
    }
    let set = "sg1:{00000000000000000000000000000001}:names";
    assert_eq!(bed.server.ask(&["ZCARD", set]).text(), CAP.to_string());
    // The home, the set, and the names.
    assert_eq!(bed.server.ask(&["DBSIZE"]).text(), (CAP + 2).to_string());
    let lives: i64 = bed.server.ask(&["PTTL", set]).text().parse().unwrap();
    assert!((1..=86_400_000).contains(&lives), "{lives}");
    let now = start().plus(Nanos::from_secs(300));
    let repeats = |key| call(&bed, bed.seq(), &[(&asked, named(key))], Some(now)).unwrap()[0].repeats;
    assert_eq!(repeats(CAP + MORE), Some(u128::from(CAP + MORE)), "the newest is known");
    assert_eq!(repeats(MORE + 300), Some(u128::from(MORE + 300)), "and what is within the cap");
    assert_eq!(repeats(1), None, "the oldest is not");
    // A name that is given back makes room.
    let refund = plan(1, &[&quota], 1, back(now, 1));
    call(&bed, bed.seq(), &[(&refund, RequestName { key: 1, ..refunded(1, 1) })], Some(now)).unwrap();
    assert_eq!(bed.server.ask(&["ZCARD", set]).text(), (CAP - 1).to_string());
}
