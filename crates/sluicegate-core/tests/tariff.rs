//! Which charges a request's plan has, and what a plan says of itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::num::NonZeroU32;

use sluicegate_core::book::LimitBook;
use sluicegate_core::file;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::{Axis, Excess, RefusalStatus};
use sluicegate_core::limit_now::{ConductNow, LimitNow};
use sluicegate_core::meter::Meter;
use sluicegate_core::plan::{Charge, ChargePlan, Due, Expects, HomeId, Mode, Sharer};
use sluicegate_core::policy::{Bucket, Bypass, Conduct, Percent, RefundOn};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::{Outcome, Readings, settle};
use sluicegate_core::tariff::{AccountCalendar, Charges, LimitPlaces, Plan, Request};
use sluicegate_core::time::Timestamp;

fn plan(tier: &str) -> Plan {
    let policy = file::read(format!("tiers: {{pro: {tier}}}").as_bytes()).unwrap().policy;
    let mut book = LimitBook::default();
    Plan::new(policy.tiers.iter().next().unwrap(), &AccountCalendar::default(), 3, |limit| book.enter(limit))
}

/// The names of the limits that a request is charged for.
fn charged(plan: &Plan, which: Charges) -> Vec<String> {
    let (home, now, mode) = (HomeId(1), Timestamp::from_secs(1_790_000_000), Mode::Force);
    let request =
        Request { home, key: None, route: None, cost: Amount::ONE, now, mode, which, slot: SlotId(1) };
    plan.tariff.plan(&request).charges().iter().map(|charge| charge.limit.name.to_string()).collect()
}

#[test]
fn slots_and_amounts_are_the_two_parts_of_all() {
    let plan = plan("{rate: 10, concurrency: 5, quota: 100}");
    assert_eq!(charged(&plan, Charges::All), ["rate", "concurrency", "quota"]);
    assert_eq!(charged(&plan, Charges::Slots), ["concurrency"]);
    assert_eq!(charged(&plan, Charges::Amounts), ["rate", "quota"]);
}

#[test]
fn some_limits_can_be_left_out_of_what_a_request_cost_in_the_end() {
    let then = plan(
        "{rate: 10, concurrency: 5, quota: 100, limits: {small: {algorithm: sliding_window, limit: 3/day}}}",
    );
    let but = |plan: &Plan, limits| charged(plan, Charges::AmountsBut(limits));
    assert_eq!(but(&then, LimitPlaces::NONE), ["rate", "small", "quota"]);
    assert_eq!(but(&then, then.tariff.rates()), ["quota"]);
    assert_eq!(but(&then, LimitPlaces::ALL), Vec::<String>::new());
    let bits = then.tariff.rates().to_bits();
    assert_eq!(but(&then, LimitPlaces::from_bits(bits)), ["quota"]);
    let now = plan(
        "{limits: {small: {algorithm: sliding_log, limit: 3/day}, new: {algorithm: sliding_log, limit: 3/day}}, \
         rate: 20, quota: 500}",
    );
    let others = |same: fn(&Rule, &Rule) -> bool| but(&now, now.tariff.others_than(&then.tariff, same));
    assert_eq!(others(Rule::reads_states_of), ["quota"]);
    assert_eq!(others(Rule::is_algorithm_of), ["rate", "quota"]);
    // A share of a plan has the places of the whole.
    let mut book = LimitBook::default();
    let quotas = then.part(Percent::FULL, |axis| axis == Axis::Quota, |limit| book.enter(limit));
    assert_eq!(but(&quotas, then.tariff.rates()), ["quota"]);
}

#[test]
fn a_repeat_owes_what_protects_the_service_and_nothing_that_is_sold() {
    let limits = "{small: {algorithm: sliding_window, limit: 3/day}, \
                  sold: {algorithm: sliding_window, limit: 9/day, axis: quota}}";
    let plan = plan(&format!("{{rate: 10, concurrency: 5, quota: 100, limits: {limits}}}"));
    assert_eq!(charged(&plan, Charges::Again), ["rate", "small", "concurrency"]);
}

#[test]
fn a_plan_is_its_tier_with_the_limits_in_order() {
    let plan = plan("{rate: 10, quota: 100, priority: 7, refund_on: 5xx}");
    assert_eq!((plan.name.as_str(), plan.number, plan.priority, plan.bypass), ("pro", 3, 7, Bypass::No));
    assert_eq!(plan.refund_on, RefundOn::ServerError);
    let names: Vec<&str> = plan.tariff.limits().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["rate", "quota"]);
    let has = [Axis::Rate, Axis::Concurrency, Axis::Quota].map(|axis| plan.tariff.has(axis));
    assert_eq!(has, [true, false, true]);
}

/// A plan whose callers are watched, with the book its limits are in.
fn watched(tier: &str) -> (Plan, LimitBook) {
    let text =
        format!("tiers: {{pro: {tier}}}\nreputation: {{penalty: 5}}\nblocks: {{after: 10, within: 1m}}");
    let policy = file::read(text.as_bytes()).unwrap().policy;
    let mut book = LimitBook::default();
    let conduct = Conduct { reputation: policy.reputation, blocks: policy.blocks };
    assert_eq!(conduct.for_keys(), Conduct::default(), "keys are left alone by default");
    let calendar = AccountCalendar::default();
    let plan = Plan::new(policy.tiers.iter().next().unwrap(), &calendar, 3, |limit| book.enter(limit))
        .with_conduct(&conduct, |limit| book.enter(limit));
    (plan, book)
}

fn request(mode: Mode, which: Charges, key: Option<NonZeroU32>) -> Request {
    let (home, now, cost) = (HomeId(1), Timestamp::from_secs(1_790_000_000), Amount::new(7).unwrap());
    Request { home, key, route: None, cost, now, mode, which, slot: SlotId(1) }
}

fn names(plan: &ChargePlan<'_>) -> Vec<String> {
    plan.charges().iter().map(|charge| charge.limit.name.to_string()).collect()
}

#[test]
fn conduct_comes_behind_the_limits_of_a_request_that_is_decided_on_and_of_no_other() {
    let (plan, _) = watched("{rate: 10, concurrency: 5, quota: 100}");
    let asked = |mode, which| names(&plan.tariff.plan(&request(mode, which, None)));
    let all = ["rate", "concurrency", "quota", "reputation", "strikes"];
    assert_eq!(asked(Mode::Charge, Charges::All), all);
    assert_eq!(asked(Mode::Peek, Charges::All), all);
    assert_eq!(asked(Mode::Peek, Charges::Everywhere), all);
    let back = Mode::Refund { charged_at: Timestamp::EPOCH, reserved: Amount::ONE };
    assert_eq!(asked(back, Charges::All), all[..3]);
    assert_eq!(asked(Mode::Force, Charges::All), all[..3]);
    assert_eq!(asked(Mode::Charge, Charges::Again), ["rate", "concurrency", "reputation", "strikes"]);
    assert_eq!(asked(back, Charges::Again), ["rate", "concurrency"]);
    assert_eq!(asked(Mode::Charge, Charges::Slots), ["concurrency"]);
    assert_eq!(asked(Mode::Charge, Charges::Amounts), ["rate", "quota"]);
    assert_eq!(plan.tariff.limits().count(), 3);
    assert!(plan.tariff.has(Axis::Conduct));
}

#[test]
fn a_refusal_costs_the_key_or_the_client_a_penalty_and_a_strike() {
    let (plan, _) = watched("{rate: 10}");
    let owed = |key| {
        let request = request(Mode::Charge, Charges::All, key);
        let charges = plan.tariff.plan(&request).charges().to_vec();
        charges.into_iter().map(|charge| (charge.due, charge.cost.get(), charge.sharer)).collect::<Vec<_>>()
    };
    let (key, all) = (NonZeroU32::MIN, Sharer::ALL);
    assert_eq!(owed(None), [(Due::Admission, 7, all), (Due::Refusal, 5, all), (Due::Refusal, 1, all)]);
    assert!(owed(Some(key)).iter().all(|(_, _, sharer)| *sharer == Sharer::key(key)));
}

#[test]
fn limits_shrink_and_conduct_does_not() {
    let (plan, mut book) = watched("{rate: 10, burst: 20, quota: 100}");
    let ids = |plan: &Plan| {
        let plan = plan.tariff.plan(&request(Mode::Charge, Charges::All, None));
        plan.charges().iter().map(|charge| charge.id).collect::<Vec<_>>()
    };
    let squeezed = plan.squeezed(Bucket::Medium.share(), |limit| book.enter(limit));
    let rules: Vec<u64> = squeezed.tariff.limits().map(|limit| limit.rule.capacity()).collect();
    assert_eq!(rules, [12, 60]);
    assert_eq!(ids(&squeezed)[2..], ids(&plan)[2..], "the same meters, read alike");
    assert_ne!(ids(&squeezed)[..2], ids(&plan)[..2]);
    let name = &plan.tariff.limits().next().unwrap().name;
    assert!(book.is_named(ids(&squeezed)[0], name) && book.is_named(ids(&plan)[0], name));
    let tiny = plan.squeezed(Percent::new(1).unwrap(), |limit| book.enter(limit));
    assert!(tiny.tariff.limits().all(|limit| limit.rule.capacity() == 1));
    let rates = plan.part(Percent::FULL, |axis| axis == Axis::Rate, |limit| book.enter(limit));
    let asked = request(Mode::Charge, Charges::All, None);
    assert_eq!(names(&rates.tariff.plan(&asked)), ["rate", "reputation", "strikes"]);
    let unwatched = plan.with_conduct(&Conduct::default(), |limit| book.enter(limit));
    assert_eq!(names(&unwatched.tariff.plan(&asked)), ["rate", "quota"]);
}

#[test]
fn a_plan_for_a_standing_expects_it_wherever_the_reputation_comes_to_stand() {
    let expects = |tier, which| {
        let (plan, _) = watched(tier);
        plan.expecting(Bucket::Medium).tariff.plan(&request(Mode::Charge, which, None)).expects
    };
    let medium = |place| Some(Expects { place, least: 50, most: 74 });
    assert_eq!(expects("{rate: 10}", Charges::All), medium(1));
    assert_eq!(expects("{rate: 10, quota: 100}", Charges::All), medium(2));
    assert_eq!(expects("{rate: 10, quota: 100}", Charges::Amounts), None);
    let (plan, mut book) = watched("{rate: 10}");
    let squeezed = plan.expecting(Bucket::Low).squeezed(Bucket::High.share(), |limit| book.enter(limit));
    assert_eq!(squeezed.tariff.plan(&request(Mode::Charge, Charges::All, None)).expects, None);
}

#[test]
fn what_is_remembered_of_a_caller_is_told_apart_from_its_limits() {
    let (plan, _) = watched("{rate: 10, burst: 10}");
    let asked = request(Mode::Charge, Charges::All, None);
    let plan = plan.tariff.plan(&asked);
    let mut meters: Vec<Meter> =
        plan.charges().iter().map(|charge| Meter::fresh(&charge.limit.rule)).collect();
    let mut readings = Readings::new();
    assert_eq!(settle(&plan, &mut meters, &mut readings), Outcome::Admitted { overage: 0 });
    assert_eq!(ConductNow::of(&plan, &readings), ConductNow { score: Some(100), strikes_left: Some(10) });
    assert!(matches!(settle(&plan, &mut meters, &mut readings), Outcome::Refused { by: 0, .. }));
    assert_eq!(ConductNow::of(&plan, &readings), ConductNow { score: Some(95), strikes_left: Some(9) });
    let limits = LimitNow::all(&plan, &readings);
    assert_eq!(limits.iter().map(|limit| limit.name.as_str()).collect::<Vec<_>>(), ["rate"]);
}

/// The sharer and the answer of each charge of a request that costs 60.
fn charged_by(plan: &Plan, key: Option<NonZeroU32>) -> Vec<(String, Sharer, Excess)> {
    let plan = plan.tariff.plan(&request(Mode::Charge, Charges::All, key));
    let charge = |charge: &Charge<'_>| (charge.limit.name.to_string(), charge.sharer, charge.limit.excess);
    plan.charges().iter().map(charge).collect()
}

#[test]
fn test_keys_have_quotas_of_their_own_which_refuse_and_share_what_protects_the_service() {
    let own = "{own: {algorithm: fixed_window, limit: 5/day, axis: quota, per: key}}";
    let plan = plan(&format!(
        "{{rate: 10, concurrency: 5, quota: 100, on_quota_exceeded: bill_overage, limits: {own}}}"
    ));
    let number = NonZeroU32::new(3).unwrap();
    let (live, test) = (KeyEnv::Live.tag(number), KeyEnv::Test.tag(number));
    let sharers =
        |key| charged_by(&plan, key).into_iter().map(|(name, sharer, _)| (name, sharer)).collect::<Vec<_>>();
    let named = |sharers: [Sharer; 4]| {
        let names = ["rate", "concurrency", "quota", "own"].map(str::to_owned);
        names.into_iter().zip(sharers).collect::<Vec<_>>()
    };
    let (rate, slots) = (sharers(Some(live))[0].1, sharers(Some(live))[1].1);
    assert_eq!(sharers(Some(live)), named([rate, slots, Sharer::ALL, Sharer::key(live)]));
    assert_eq!(sharers(Some(test)), named([rate, slots, Sharer::TEST_KEYS, Sharer::key(test)]));
    assert_ne!(Sharer::key(live), Sharer::key(test));
    let excess = |key| charged_by(&plan, key).into_iter().map(|(.., excess)| excess).collect::<Vec<_>>();
    assert_eq!(excess(Some(live))[2], Excess::BillOverage);
    assert_eq!(excess(Some(test))[2], Excess::Refuse(RefusalStatus::TooManyRequests));
    // A share of the limits keeps it so.
    let mut book = LimitBook::default();
    let half = plan.squeezed(Percent::new(50).unwrap(), |limit| book.enter(limit));
    assert_eq!(charged_by(&half, Some(test))[2].2, Excess::Refuse(RefusalStatus::TooManyRequests));
}

#[test]
fn the_environment_travels_with_the_number_of_a_key() {
    for number in [1, 2, 77, (1 << 31) - 1] {
        let number = NonZeroU32::new(number).unwrap();
        for env in [KeyEnv::Live, KeyEnv::Test] {
            let tagged = env.tag(number);
            assert_eq!((KeyEnv::of_tagged(tagged), KeyEnv::untag(tagged)), (env, Some(number)));
        }
        assert_ne!(KeyEnv::Test.tag(number), KeyEnv::TEST_KEYS);
    }
    assert_eq!(KeyEnv::untag(KeyEnv::TEST_KEYS), None);
}

/// Records keep which limits were left out, and are counted under the tier that the account has later.
#[test]
fn a_limit_that_tiers_have_in_common_has_one_place() {
    let quota = |tier: &str| plan(tier).tariff.places(|limit| limit.axis == Axis::Quota);
    let custom = "limits: {small: {algorithm: sliding_window, limit: 3/day}}";
    let tiers =
        ["{quota: 9}".to_owned(), "{rate: 1, quota: 9}".to_owned(), format!("{{{custom}, quota: 9}}")];
    for tier in &tiers {
        assert_eq!(quota(tier), quota("{rate: 5, concurrency: 2, quota: 100}"), "{tier}");
    }
    // Sixteen limits have sixteen places.
    let limits = (0..16).map(|number| format!("l{number}: {{algorithm: sliding_window, limit: 3/day}}"));
    let many = plan(&format!("{{limits: {{{}}}}}", limits.collect::<Vec<_>>().join(", ")));
    assert_eq!(many.tariff.places(|_| true), LimitPlaces::ALL);
}
