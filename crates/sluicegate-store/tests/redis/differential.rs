//! Redis answers as the table in memory and the reference model do, to the unit and the microsecond.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_core::plan::HomeId;
use sluicegate_core::rule::Rule;
use sluicegate_testkit::redis::Engine;

use crate::bed::Bed;
use crate::strategies::{Event, METERS, Terms, all_terms, event, start, terms};
use crate::trio::{Calls, Trio};
use crate::{is_slow, on_each_engine};

const STEPS: usize = 100;

on_each_engine!(
    plans_are_answered_as_memory_and_the_model_do,
    plans_of_one_call_are_answered_as_if_one_by_one,
    the_common_plan_is_answered_as_any_other,
    plans_among_many_meters_are_answered_as_memory_and_the_model_do,
    the_common_plan_among_many_meters_is_answered_as_any_other,
);

/// What the home in Redis has besides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    None,
    Many,
}

fn plans_are_answered_as_memory_and_the_model_do(engine: Engine) {
    check(engine, 1_500, Calls::Single, Others::None, event(), all_terms());
}

fn plans_of_one_call_are_answered_as_if_one_by_one(engine: Engine) {
    check(engine, 1_500, Calls::Together, Others::None, event(), all_terms());
}

/// Time only moves forward: idle meters among many are evicted, and a clock that steps back would need them again.
fn plans_among_many_meters_are_answered_as_memory_and_the_model_do(engine: Engine) {
    let ahead = || event().prop_map(ahead_only);
    check(engine, 700, Calls::Single, Others::Many, ahead(), all_terms());
    check(engine, 700, Calls::Together, Others::Many, ahead(), all_terms());
}

fn ahead_only(event: Event) -> Event {
    if let Event::Earlier(_) = event { Event::Nothing } else { event }
}

/// A request that owes to a bucket and a window is asked in a way of its own.
fn the_common_plan_is_answered_as_any_other(engine: Engine) {
    check_common(engine, Others::None);
}

fn the_common_plan_among_many_meters_is_answered_as_any_other(engine: Engine) {
    check_common(engine, Others::Many);
}

fn check_common(engine: Engine, others: Others) {
    let of = |meter: usize| {
        terms(meter).prop_filter("a common limit", move |terms| is_common(meter, terms)).boxed()
    };
    let events = event().prop_map(move |event| match event {
        Event::Ask { cost, .. } => Event::Ask { meters: vec![0, 3], cost, expects: None },
        Event::Force { cost, .. } => Event::Force { meters: vec![0, 3], cost, expects: None },
        Event::Peek { cost, .. } => Event::Peek { meters: vec![0, 3], cost, expects: None },
        Event::Edit { meter, terms } if !is_common(meter, &terms) => Event::Nothing,
        other if others == Others::Many => ahead_only(other),
        other => other,
    });
    let mut first = all_terms();
    (first[0], first[3]) = (of(0), of(3));
    check(engine, 1_500, Calls::Single, others, events, first);
}

fn is_common(meter: usize, terms: &Terms) -> bool {
    match meter {
        0 => matches!(terms.rule, Rule::TokenBucket(_)),
        3 => matches!(terms.rule, Rule::FixedWindow(_) | Rule::Calendar { .. }),
        _ => false,
    }
}

fn check(
    engine: Engine,
    cases: u32,
    calls: Calls,
    others: Others,
    event: impl Strategy<Value = Event>,
    first: [BoxedStrategy<Terms>; METERS],
) {
    let bed = Bed::new(engine);
    let cases = if is_slow() { cases * 10 } else { cases };
    let config = Config { cases, max_shrink_iters: 5_000, failure_persistence: None, ..Config::default() };
    let homes = Cell::new(0);
    let result =
        TestRunner::new(config).run(&(first, start(), vec(event, STEPS)), |(first, start, events)| {
            homes.set(homes.get() + 1);
            let trio = Trio::new(&bed, calls, HomeId(homes.get()), &first, start);
            if others == Others::Many { trio.among_many().live(&events) } else { trio.live(&events) }
        });
    if let Err(error) = result {
        panic!("{error}");
    }
}
