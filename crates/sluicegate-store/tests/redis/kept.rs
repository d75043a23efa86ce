//! What lies in Redis: keys that expire, homes with many meters, and keys that hold something else.

use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::{Amount, LEASE_DEFAULT, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_store::redis::CallError;
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::redis::{Engine, Reply};

use crate::bed::{Bed, limit, monthly, plan, plan_of, rate};
use crate::on_each_engine;

on_each_engine!(
    everything_that_is_written_expires_when_it_says_nothing_any_more,
    an_expiry_is_prolonged_in_time,
    a_script_that_was_flushed_is_sent_again,
    counts_stop_at_the_largest_number,
    a_key_that_holds_something_else_is_an_error,
    no_bytes_under_a_key_make_the_store_panic,
    a_list_that_somebody_deleted_is_forgotten,
    a_list_that_outlived_its_home_is_forgotten,
    a_home_of_version_1_is_read_and_written_as_version_2,
);

const HOME: &str = "sg1:{00000000000000000000000000000001}";

fn windowed(amount: u64, window: Window) -> Windowed {
    Windowed { limit: Amount::new(amount).unwrap(), window }
}

fn keys(bed: &Bed) -> Vec<String> {
    let mut keys: Vec<String> = bed.server.ask(&["KEYS", "*"]).list().iter().map(|key| key.text()).collect();
    keys.sort();
    keys
}

/// Seconds until a key is gone.
fn lives(bed: &Bed, key: &str) -> i64 {
    let millis: i64 = bed.server.ask(&["PTTL", key]).text().parse().unwrap();
    assert!(millis > 0, "{key} lives for ever");
    millis / 1_000
}

fn everything_that_is_written_expires_when_it_says_nothing_any_more(engine: Engine) {
    let bed = Bed::new(engine);
    bed.ask(&plan(1, &[&rate(10, 20)], 1, Mode::Charge));
    let soon = lives(&bed, HOME);
    assert!((60..=180).contains(&soon), "{soon}");
    let hour = limit("hour", Axis::Quota, Rule::FixedWindow(windowed(10, Window::HOUR)));
    bed.ask(&plan(1, &[&hour], 1, Mode::Charge));
    let log = limit("log", Axis::Rate, Rule::SlidingLog(windowed(10, Window::HOUR)));
    let slots = Rule::Concurrency { limit: Amount::new(5).unwrap(), lease: LEASE_DEFAULT };
    let slots = limit("slots", Axis::Concurrency, slots);
    for slot in 0..3 {
        bed.ask(&plan_of(1, &[&log, &slots], 1, Mode::Charge, slot));
    }
    let keys = keys(&bed);
    assert_eq!(keys.len(), 3, "a home, a list and a set: {keys:?}");
    assert!(keys.iter().all(|key| key.starts_with(HOME)), "{keys:?}");
    let mut all: Vec<i64> = keys.iter().map(|key| lives(&bed, key)).collect();
    all.sort_unstable();
    assert!((60..=240).contains(&all[0]), "the slots: {all:?}");
    assert!((3_600..=3_600 + 3_600 / 4 + 120).contains(&all[1]), "{all:?}");
    // The home has a quota, which takes corrections for two days after its hour.
    let two_days = 2 * 86_400;
    assert!((two_days..=two_days + 3_600 + 3_600).contains(&all[2]), "{all:?}");
}

fn an_expiry_is_prolonged_in_time(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, start) = (rate(10, 20), Timestamp::from_secs(1_790_000_000));
    let limits = [&rate];
    let charge = |secs: u32| {
        let plans = [plan(1, &limits, 1, Mode::Charge)];
        let now = start.plus(Nanos::from_secs(secs));
        bed.call_as(bed.seq(), HomeId(1), &plans, Some(now)).unwrap();
    };
    charge(0);
    bed.server.ask(&["PEXPIRE", HOME, "1000000"]);
    charge(10);
    assert!(lives(&bed, HOME) > 900, "the expiry that is late enough stays");
    charge(3_000);
    assert!((60..=180).contains(&lives(&bed, HOME)), "the one that is not is set anew");
}

fn a_script_that_was_flushed_is_sent_again(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    for used in 1..=5 {
        assert_eq!(bed.ask(&plan(1, &[&quota], 1, Mode::Charge)).readings[0].used, used);
        bed.server.ask(&["SCRIPT", "FLUSH"]);
    }
}

fn counts_stop_at_the_largest_number(engine: Engine) {
    let bed = Bed::new(engine);
    let rules = [
        ("fixed", Rule::FixedWindow(windowed(Amount::MAX, Window::DAY))),
        ("sliding", Rule::SlidingWindow(windowed(Amount::MAX, Window::DAY))),
        ("buckets", Rule::SlidingBuckets(windowed(Amount::MAX, Window::DAY))),
    ];
    let now = Timestamp::from_secs(1_790_000_000);
    for (home, (name, rule)) in (1..).zip(rules) {
        let quota = limit(name, Axis::Quota, rule);
        let ask = |cost, mode| {
            let plans = [plan(home, &[&quota], cost, mode)];
            bed.call_as(bed.seq(), HomeId(home), &plans, Some(now)).unwrap().remove(0)
        };
        ask(Amount::MAX - 1, Mode::Charge);
        assert_eq!(ask(1, Mode::Charge).readings[0].used, Amount::MAX, "{name}");
        assert!(matches!(ask(1, Mode::Charge).outcome, Outcome::Refused { .. }), "{name}");
        assert_eq!(ask(Amount::MAX, Mode::Force).readings[0].used, Amount::MAX, "{name}");
        let charged_at = now;
        assert_eq!(
            ask(1, Mode::Refund { charged_at, reserved: Amount::ONE }).readings[0].used,
            Amount::MAX - 1,
            "{name}"
        );
    }
}

fn a_key_that_holds_something_else_is_an_error(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(10, 20), monthly(100));
    let error = |limits: &[&Limit]| match bed.call_as(
        bed.seq(),
        HomeId(1),
        &[plan(1, limits, 1, Mode::Charge)],
        None,
    ) {
        Err(CallError::Refused(answer)) => answer.to_string(),
        other => panic!("{other:?}"),
    };
    for limits in [&[&rate, &quota][..], &[&quota]] {
        bed.server.ask(&["DEL", HOME]);
        bed.server.ask(&["LPUSH", HOME, "x"]);
        assert!(error(limits).contains("WRONGTYPE"));
        bed.server.ask(&["SET", HOME, "something that is no home at all"]);
        assert!(error(limits).contains("the home is not of version 1"), "{}", error(limits));
    }
    let log = limit("log", Axis::Rate, Rule::SlidingLog(windowed(10, Window::HOUR)));
    bed.server.ask(&["DEL", HOME]);
    bed.ask(&plan(1, &[&log], 1, Mode::Charge));
    bed.ask(&plan(1, &[&log], 1, Mode::Charge));
    let list = keys(&bed).pop().unwrap();
    bed.server.ask(&["SET", &list, "x"]);
    assert!(error(&[&log]).contains("WRONGTYPE"));
    assert!(error(&[&log]).contains("WRONGTYPE"), "and nothing was charged before it was noticed");
}

fn no_bytes_under_a_key_make_the_store_panic(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(10, 20), monthly(100));
    let log = limit("log", Axis::Rate, Rule::SlidingLog(windowed(10, Window::HOUR)));
    let limits = [&rate, &log, &quota];
    bed.ask(&plan(1, &limits, 1, Mode::Charge));
    let Reply::Bytes(whole) = bed.server.ask(&["GET", HOME]) else { panic!("there is a home") };
    let mut dice = Dice::new(7);
    for round in 0..600 {
        let mut broken = whole.clone();
        if round % 3 == 0 {
            broken.truncate(usize::try_from(dice.below(whole.len() as u64)).unwrap());
        } else {
            for _ in 0..=dice.below(3) {
                let place = usize::try_from(dice.below(broken.len() as u64)).unwrap();
                broken[place] = u8::try_from(dice.below(256)).unwrap();
            }
        }
        bed.server.ask(&[&b"SET"[..], HOME.as_bytes(), &broken]);
        let limits = if round % 2 == 0 { &limits[..] } else { &[&rate, &quota] };
        // Whatever comes of it: an answer or an error.
        let _ = bed.call_as(bed.seq(), HomeId(1), &[plan(1, limits, 1, Mode::Charge)], None);
        let _ = bed.resolve(HomeId(1), bed.seq(), bed.seq());
    }
}

fn a_list_that_somebody_deleted_is_forgotten(engine: Engine) {
    let bed = Bed::new(engine);
    let log = limit("log", Axis::Rate, Rule::SlidingLog(windowed(10, Window::MINUTE)));
    let start = Timestamp::from_secs(1_790_000_000);
    let ask = |secs: u32, cost: u64| {
        let now = start.plus(Nanos::from_secs(secs));
        let plans = [plan(1, &[&log], cost, Mode::Charge)];
        bed.call_as(bed.seq(), HomeId(1), &plans, Some(now)).unwrap().remove(0)
    };
    for secs in 0..10 {
        ask(secs, 1);
    }
    let list = keys(&bed).pop().unwrap();
    bed.server.ask(&["DEL", &list]);
    assert!(matches!(ask(20, 1).outcome, Outcome::Refused { .. }), "the total is in the home");
    assert_eq!(ask(60, 1).readings[0].used, 2, "when the oldest would go, the list is found to be gone");
}

fn a_list_that_outlived_its_home_is_forgotten(engine: Engine) {
    let bed = Bed::new(engine);
    let log = limit("log", Axis::Rate, Rule::SlidingLog(windowed(10, Window::MINUTE)));
    let start = Timestamp::from_secs(1_790_000_000);
    let ask = |secs: u32| {
        let now = start.plus(Nanos::from_secs(secs));
        let plans = [plan(1, &[&log], 1, Mode::Charge)];
        bed.call_as(bed.seq(), HomeId(1), &plans, Some(now)).unwrap().remove(0).readings[0].used
    };
    for secs in 0..5 {
        ask(secs);
    }
    bed.server.ask(&["DEL", HOME]);
    for secs in 70..75 {
        assert_eq!(ask(secs), u64::from(secs - 69));
    }
    assert_eq!(ask(132), 3, "the last two count, and this one");
}

/// Nodes of earlier versions write homes of version 1, and refuse others: they would misread what is in them.
fn a_home_of_version_1_is_read_and_written_as_version_2(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(10, 20), monthly(100));
    let hour = limit("hour", Axis::Quota, Rule::FixedWindow(windowed(10, Window::HOUR)));
    let version = || {
        let Reply::Bytes(home) = bed.server.ask(&["GET", HOME]) else { panic!("there is a home") };
        home[0]
    };
    let limits: [&[&Limit]; 3] = [&[&rate, &quota], &[&rate, &quota, &hour], &[&quota]];
    for (round, limits) in (1..).zip(limits) {
        bed.ask(&plan(1, limits, 1, Mode::Charge));
        assert_eq!(version(), 2);
        bed.server.ask(&[&b"SETRANGE"[..], HOME.as_bytes(), b"0", b"\x01"]);
        let asked = bed.ask(&plan(1, limits, 1, Mode::Charge));
        let place = limits.iter().position(|limit| limit.name == quota.name).unwrap();
        assert_eq!((asked.readings[place].used, version()), (2 * round, 2), "round {round}");
    }
    bed.server.ask(&[&b"SETRANGE"[..], HOME.as_bytes(), b"0", b"\x01"]);
    bed.resolve(HomeId(1), bed.seq(), bed.seq()).unwrap();
    assert_eq!(version(), 2);
    assert_eq!(bed.ask(&plan(1, &[&quota], 1, Mode::Charge)).readings[0].used, 7);
}
