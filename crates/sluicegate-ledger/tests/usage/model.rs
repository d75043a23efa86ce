//! The book beside sums that are as simple as they can be, over anything that may happen in any order.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::usage::{Query, Step};
use sluicegate_ledger::{Flags, Hour, Kind, Quarter, Record};

use crate::fixtures::{Bed, at, charge, hour, start};

#[derive(Clone, Debug)]
enum Act {
    Append(Record),
    Roll,
    Close(u32),
    Reopen,
    Ask(Query),
}

fn records() -> impl Strategy<Value = Record> {
    let kinds = prop_oneof![Just(Kind::Charge), Just(Kind::Refund), Just(Kind::Correction)];
    let flags = prop_oneof![4 => Just(Flags::NONE), 1 => Just(Flags::LATE), 1 => Just(Flags::DEGRADED)];
    let env = prop_oneof![3 => Just(KeyEnv::Live), 1 => Just(KeyEnv::Test)];
    let when = (0..8u32, 0..3600u32, 0..10_000u32);
    (kinds, (flags, env), when, 0..3u64, 0..3u64, 0..3u32, 0..1000u64).prop_map(
        |(kind, (flags, env), (hour, second, before), account, key, route, cost)| {
            let record = charge(at(hour, second), account, cost);
            let charged_at = Timestamp::from_secs(record.at.as_secs() - before);
            let charged_at = if kind == Kind::Charge { record.at } else { charged_at };
            Record { kind, flags, env, key, route, charged_at, overage: cost / 3, ..record }
        },
    )
}

/// Zones that begin their days at a whole, a half and a quarter of an hour.
fn zones() -> impl Strategy<Value = TimeZone> {
    let zone = |name: &str| Just(TimeZone::get(name).unwrap());
    prop_oneof![Just(TimeZone::UTC), zone("Asia/Kolkata"), zone("Asia/Kathmandu")]
}

/// So many quarters behind the first hour.
fn later(quarters: u32) -> Quarter {
    Quarter::new(start(0).number() + quarters).unwrap()
}

fn queries() -> impl Strategy<Value = Query> {
    let step = prop_oneof![Just(Step::Quarter), Just(Step::Hour), Just(Step::Day), Just(Step::Month)];
    let part = |max: u32| proptest::option::of(0..max);
    (part(3), part(3), part(3), 0..36u32, 0..36u32, (step, zones())).prop_map(
        |(account, key, route, from, to, (step, zone))| Query {
            account: account.map(u64::from),
            key: key.map(u64::from),
            route,
            quarters: later(from)..later(to),
            step,
            zone,
        },
    )
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        20 => records().prop_map(Act::Append),
        2 => Just(Act::Roll),
        1 => (0..9u32).prop_map(Act::Close),
        1 => Just(Act::Reopen),
        4 => queries().prop_map(Act::Ask),
    ];
    proptest::collection::vec(act, 1..150)
}

/// Every record with the quarter in which it counts: that of its charge.
#[derive(Default)]
struct Model {
    open: Hour,
    counted: Vec<(Quarter, Record)>,
}

impl Model {
    fn total(&self, query: &Query) -> (i128, BTreeMap<Quarter, i128>) {
        let mut series: BTreeMap<Quarter, i128> = BTreeMap::new();
        for (quarter, record) in &self.counted {
            let wanted = query.account.is_none_or(|it| it == record.account)
                && query.key.is_none_or(|it| it == record.key)
                && query.route.is_none_or(|it| it == record.route)
                && query.quarters.contains(quarter);
            // What says only that a permit is held or finished is no usage.
            let is_usage = record.kind == Kind::Charge || record.cost > 0;
            if wanted && is_usage {
                let cost = i128::from(record.cost);
                let cost = if record.kind == Kind::Refund { -cost } else { cost };
                *series.entry(query.step.start(*quarter, &query.zone)).or_default() += cost;
            }
        }
        (series.values().sum(), series)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_book_says_what_the_records_come_to(acts in acts()) {
        let mut bed = Bed::new();
        let mut model = Model::default();
        for act in acts {
            match act {
                Act::Append(record) => {
                    bed.append(&record);
                    model.counted.push((Quarter::of(record.charged_at), record));
                }
                Act::Roll => bed.roll(),
                Act::Close(until) => {
                    bed.book.close_due(&bed.spool, at(until, 0), Nanos::ZERO).unwrap();
                    let open = bed.book.standing().unwrap().map_or(Hour::FIRST, |it| it.open);
                    prop_assert!(open == model.open || open == hour(until));
                    model.open = open;
                }
                Act::Reopen => bed = bed.reopened(),
                Act::Ask(query) => {
                    let usage = bed.usage(&query);
                    let (total, series) = model.total(&query);
                    prop_assert_eq!(usage.sums.total(), total);
                    let found: BTreeMap<_, _> =
                        usage.series.iter().map(|point| (point.start, point.sums.total())).collect();
                    prop_assert_eq!(found, series);
                }
            }
        }
        prop_assert_eq!(bed.total(), model.total(&Query::default()).0);
        bed.roll();
        prop_assert!(bed.book.recount(&bed.spool, hour(0)..hour(20)).unwrap().miscounted.is_empty());
    }
}
