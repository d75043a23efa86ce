//! The edge against a map that has room for everybody, and from many threads at once.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluicegate_core::rule::token_bucket::Tat;
use sluicegate_core::rule::{Answer, Ask, TokenBucket};
use sluicegate_core::time::{Nanos, Timestamp, Window};

use super::{EdgeTable, EdgeVerdict, WAYS};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

/// A bucket for each address.
#[derive(Default)]
struct Exact(BTreeMap<u64, Tat>);

impl Exact {
    fn check(&mut self, address: u64, bucket: &TokenBucket, now: Timestamp) -> EdgeVerdict {
        let tat = self.0.entry(address).or_default();
        let (after, verdict) = bucket.settle(*tat, Ask::Take(1), now);
        *tat = after;
        match verdict.answer {
            Answer::Fits => EdgeVerdict::Pass,
            Answer::Wait(retry_after) => EdgeVerdict::Refuse { retry_after },
            Answer::Never => unreachable!("one is never more than a burst"),
        }
    }
}

fn bucket() -> impl Strategy<Value = TokenBucket> {
    (1_u64..2_000, 1_u64..90, 1_u64..200).prop_map(|(amount, secs, burst)| {
        TokenBucket::new(amount, Window::from_secs(secs).unwrap(), burst).unwrap()
    })
}

/// Who calls, and how long after the one before.
fn calls(addresses: usize) -> impl Strategy<Value = Vec<(usize, u64)>> {
    let pause = prop_oneof![4 => Just(0), 4 => 0_u64..50_000_000, 1 => 0_u64..20_000_000_000];
    prop::collection::vec((0..addresses, pause), 1..600)
}

proptest! {
    #[test]
    fn who_finds_a_cell_is_metered_as_if_alone(
        addresses in prop::collection::hash_set(any::<u64>(), WAYS),
        bucket in bucket(),
        calls in calls(WAYS),
    ) {
        let addresses: Vec<u64> = addresses.into_iter().collect();
        let (table, mut exact, mut now) = (EdgeTable::new(0), Exact::default(), START);
        for (who, pause) in calls {
            now = now.plus(Nanos(pause));
            let expected = exact.check(addresses[who], &bucket, now);
            prop_assert_eq!(table.check(addresses[who], &bucket, now), expected);
        }
    }

    #[test]
    fn nobody_is_refused_because_the_table_is_full(
        addresses in prop::collection::hash_set(any::<u64>(), 50),
        bucket in bucket(),
        calls in calls(50),
    ) {
        let addresses: Vec<u64> = addresses.into_iter().collect();
        let (table, mut exact, mut now) = (EdgeTable::new(0), Exact::default(), START);
        for (who, pause) in calls {
            now = now.plus(Nanos(pause));
            // Whoever would be refused with a cell of its own does not send.
            let address = addresses[who];
            if exact.check(address, &bucket, now) == EdgeVerdict::Pass {
                prop_assert_eq!(table.check(address, &bucket, now), EdgeVerdict::Pass);
            }
        }
    }

    #[test]
    fn refused_until_retry_after_then_admitted(
        addresses in prop::collection::hash_set(any::<u64>(), 30),
        bucket in bucket(),
        calls in calls(30),
    ) {
        let addresses: Vec<u64> = addresses.into_iter().collect();
        let (table, mut now) = (EdgeTable::new(0), START);
        for (who, pause) in calls {
            now = now.plus(Nanos(pause));
            if let EdgeVerdict::Refuse { retry_after } = table.check(addresses[who], &bucket, now) {
                prop_assert!(retry_after > Nanos::ZERO);
                now = now.plus(retry_after);
                prop_assert_eq!(table.check(addresses[who], &bucket, now), EdgeVerdict::Pass);
            }
        }
    }
}

#[test]
fn many_threads_are_admitted_one_burst_together() {
    let (table, bucket) = (EdgeTable::new(10), TokenBucket::new(50, Window::SECOND, 10_000).unwrap());
    let passed: usize = std::thread::scope(|scope| {
        let one = || (0..5_000).filter(|_| table.check(7, &bucket, START) == EdgeVerdict::Pass).count();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(passed, 10_000);
}
