//! Asking: filters, steps, and an answer that does not wait for anything.

use jiff::tz::TimeZone;
use sluicegate_ledger::usage::{Query, Step};
use sluicegate_ledger::{Hour, Record};

use crate::fixtures::{Bed, at, charge, quarters};

/// Two accounts with two keys and two routes each, over three days.
fn filled() -> Bed {
    let bed = Bed::new();
    for number in 0..72 {
        for account in 1..=2 {
            for (key, route) in [(1, 1), (1, 2), (2, 1)] {
                let record = charge(at(number, 9), account, account * 100 + key * 10 + u64::from(route));
                bed.append(&Record { key, route, ..record });
            }
        }
    }
    bed
}

#[test]
fn filters_leave_what_was_asked_for_whether_it_is_rolled_up_or_not() {
    let bed = filled();
    let all = Query::default();
    let cases = [
        (all.clone(), 72 * (111 + 112 + 121 + 211 + 212 + 221)),
        (Query { account: Some(2), ..all.clone() }, 72 * (211 + 212 + 221)),
        (Query { account: Some(2), key: Some(1), ..all.clone() }, 72 * (211 + 212)),
        (Query { account: Some(2), key: Some(1), route: Some(2), ..all.clone() }, 72 * 212),
        (Query { route: Some(2), ..all.clone() }, 72 * (112 + 212)),
        (Query { key: Some(2), ..all.clone() }, 72 * (121 + 221)),
        (Query { account: Some(1), quarters: quarters(5, 7), ..all.clone() }, 2 * (111 + 112 + 121)),
        (
            Query { account: Some(1), route: Some(1), quarters: quarters(5, 7), ..all.clone() },
            2 * (111 + 121),
        ),
        (Query { account: Some(3), ..all.clone() }, 0),
        (Query { quarters: quarters(7, 5), ..all.clone() }, 0),
        (Query { quarters: quarters(200, 300), ..all }, 0),
    ];
    for _ in 0..2 {
        for (query, total) in &cases {
            let usage = bed.usage(query);
            assert_eq!(usage.sums.total(), *total, "{query:?}");
            assert_eq!(
                usage.series.iter().map(|point| point.sums.total()).sum::<i128>(),
                *total,
                "{query:?}"
            );
        }
        bed.roll();
    }
}

#[test]
fn a_series_is_by_hour_day_or_month_and_in_order() {
    let bed = filled();
    bed.roll();
    let starts = |step: Step| {
        let usage = bed.usage(&Query { step, ..Query::default() });
        usage.series.iter().map(|point| point.start.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(starts(Step::Hour).len(), 72);
    assert_eq!(
        starts(Step::Day),
        ["2026-09-21T00:00:00Z", "2026-09-22T00:00:00Z", "2026-09-23T00:00:00Z", "2026-09-24T00:00:00Z"]
    );
    assert_eq!(starts(Step::Month), ["2026-09-01T00:00:00Z"]);
}

/// Midnight in Kathmandu is at 18:15 UTC, and in Kolkata at 18:30.
#[test]
fn days_and_months_of_every_time_zone_begin_where_they_do() {
    let bed = Bed::new();
    let hour_18 = 29; // 2026-09-22T18:00:00Z, counted from the first hour of these tests.
    for (minute, cost) in [(0, 1), (14, 10), (15, 100), (29, 1_000), (30, 10_000), (59, 100_000)] {
        bed.append(&charge(at(hour_18, minute * 60 + 59), 1, cost));
    }
    for _ in 0..2 {
        let days = |zone: &str| {
            let zone = TimeZone::get(zone).unwrap();
            let usage = bed.usage(&Query { step: Step::Day, zone, ..Query::default() });
            usage.series.iter().map(|day| (day.start.to_string(), day.sums.total())).collect::<Vec<_>>()
        };
        let day = |start: &str, total: i128| (start.to_owned(), total);
        assert_eq!(days("UTC"), [day("2026-09-22T00:00:00Z", 111_111)]);
        let kathmandu = [day("2026-09-21T18:15:00Z", 11), day("2026-09-22T18:15:00Z", 111_100)];
        assert_eq!(days("Asia/Kathmandu"), kathmandu);
        let kolkata = [day("2026-09-21T18:30:00Z", 1_111), day("2026-09-22T18:30:00Z", 110_000)];
        assert_eq!(days("Asia/Kolkata"), kolkata);
        bed.roll();
    }
}

#[test]
fn what_was_appended_a_moment_ago_is_in_the_answer() {
    let bed = Bed::new();
    for count in 1..=200 {
        bed.append(&charge(at(0, 0), 1, 1));
        assert_eq!(bed.total(), count);
        if count % 50 == 0 {
            bed.roll();
        }
    }
}

#[test]
fn nothing_used_is_an_empty_answer() {
    let bed = Bed::new();
    let usage = bed.usage(&Query::default());
    assert_eq!((usage.sums.total(), usage.series.len(), usage.open), (0, 0, Hour::FIRST));
    bed.roll();
    assert!(bed.usage(&Query::default()).series.is_empty());
}
