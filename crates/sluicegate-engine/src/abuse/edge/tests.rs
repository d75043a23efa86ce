//! What the edge promises, with a table of one set where that is enough.

use sluicegate_core::rule::TokenBucket;
use sluicegate_core::time::{Nanos, Timestamp, Window};

use super::{EdgeTable, EdgeVerdict, WAYS};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn bucket(amount: u64, burst: u64) -> TokenBucket {
    TokenBucket::new(amount, Window::SECOND, burst).unwrap()
}

fn address(number: u64) -> u64 {
    // Spread as a keyed hash would.
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mixed.rotate_left(31)
}

fn passes(table: &EdgeTable, address: u64, bucket: &TokenBucket, now: Timestamp) -> bool {
    table.check(address, bucket, now) == EdgeVerdict::Pass
}

#[test]
fn an_address_may_send_its_burst_and_is_told_when_to_come_back() {
    let (table, bucket) = (EdgeTable::new(4), bucket(50, 100));
    for _ in 0..100 {
        assert!(passes(&table, 7, &bucket, START));
    }
    let verdict = table.check(7, &bucket, START);
    assert_eq!(verdict, EdgeVerdict::Refuse { retry_after: Nanos(20_000_000) });
    assert!(!passes(&table, 7, &bucket, START.plus(Nanos(19_999_999))));
    assert!(passes(&table, 7, &bucket, START.plus(Nanos(20_000_000))));
}

#[test]
fn thirds_of_a_second_are_not_lost() {
    let (table, bucket) = (EdgeTable::new(0), bucket(3, 3));
    for second in 0..10_000 {
        let now = START.plus(Nanos::from_secs(second));
        let passed = (0..10).filter(|_| passes(&table, 7, &bucket, now)).count();
        assert_eq!(passed, 3, "in second {second}");
    }
}

#[test]
fn addresses_are_metered_apart() {
    let (table, bucket) = (EdgeTable::new(8), bucket(1, 1));
    for number in 0..300 {
        assert!(passes(&table, address(number), &bucket, START));
    }
    let again = (0..300).filter(|number| passes(&table, address(*number), &bucket, START)).count();
    assert_eq!(again, 0);
}

#[test]
fn a_full_set_refuses_nobody_who_keeps_within_the_limit() {
    let (table, bucket) = (EdgeTable::new(0), bucket(10, 20));
    // 200 addresses on one set of six, each once a tenth of a second: exactly the rate, for a minute.
    for tenth in 0..600 {
        let now = START.plus(Nanos(tenth * 100_000_000));
        for number in 0..200 {
            let verdict = table.check(address(number), &bucket, now);
            assert_eq!(verdict, EdgeVerdict::Pass, "address {number} in tenth {tenth}");
        }
    }
}

#[test]
fn a_full_set_still_limits_those_who_share() {
    let (table, bucket) = (EdgeTable::new(0), bucket(10, 20));
    let mut passed = 0_usize;
    for round in 0..100 {
        for number in 0..20 {
            let now = START.plus(Nanos(round * 1_000));
            passed += usize::from(passes(&table, address(number), &bucket, now));
        }
    }
    // Twenty addresses with a burst of twenty; in doubt those without a cell are three times as many.
    assert!((20 * 20..=3 * 20 * 20).contains(&passed), "{passed}");
}

#[test]
fn who_holds_a_cell_is_not_touched_by_a_crowd() {
    let (table, bucket) = (EdgeTable::new(0), bucket(1, 2));
    for number in 0..WAYS as u64 {
        assert!(passes(&table, address(number), &bucket, START));
    }
    for number in 100..10_000 {
        table.check(address(number), &bucket, START);
    }
    for number in 0..WAYS as u64 {
        assert!(passes(&table, address(number), &bucket, START));
        assert!(!passes(&table, address(number), &bucket, START));
    }
}

#[test]
fn a_cell_is_taken_over_once_its_bucket_is_full_again() {
    let (table, bucket) = (EdgeTable::new(0), bucket(1, 1));
    for number in 0..WAYS as u64 {
        assert!(passes(&table, address(number), &bucket, START));
    }
    let later = START.plus(Nanos(1_000_000_001));
    for number in 50..50 + WAYS as u64 {
        assert!(passes(&table, address(number), &bucket, later));
        assert!(!passes(&table, address(number), &bucket, later));
    }
}

#[test]
fn an_edited_policy_closes_nobody_out_for_long() {
    let table = EdgeTable::new(0);
    let slow = TokenBucket::new(7, Window::HOUR, 7).unwrap();
    while passes(&table, 7, &slow, START) {}
    let fast = bucket(50, 100);
    let EdgeVerdict::Refuse { retry_after } = table.check(7, &fast, START) else {
        panic!("the debt of an hour is at least an empty bucket");
    };
    assert!(retry_after <= Nanos::from_secs(1), "{retry_after:?}");
}

#[test]
fn a_clock_that_stepped_back_closes_nobody_out() {
    for addresses in [1, 20] {
        let (table, bucket) = (EdgeTable::new(0), bucket(10, 10));
        let ahead = START.plus(Nanos::from_secs(3_600));
        for number in (0..addresses).cycle().take(400) {
            table.check(address(number), &bucket, ahead);
        }
        for number in 0..addresses {
            let EdgeVerdict::Refuse { retry_after } = table.check(address(number), &bucket, START) else {
                continue;
            };
            assert!(retry_after <= Nanos::from_secs(1), "{retry_after:?}");
        }
    }
}
