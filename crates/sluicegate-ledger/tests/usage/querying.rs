//! Asking: filters, steps, and an answer that does not wait for anything.

use sluicegate_ledger::usage::{Query, Step};
use sluicegate_ledger::{Hour, Record};

use crate::fixtures::{Bed, at, charge, hour};

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
        (Query { account: Some(1), hours: hour(5)..hour(7), ..all.clone() }, 2 * (111 + 112 + 121)),
        (Query { account: Some(1), route: Some(1), hours: hour(5)..hour(7), ..all.clone() }, 2 * (111 + 121)),
        (Query { account: Some(3), ..all.clone() }, 0),
        (Query { hours: hour(7)..hour(5), ..all.clone() }, 0),
        (Query { hours: hour(200)..hour(300), ..all }, 0),
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
