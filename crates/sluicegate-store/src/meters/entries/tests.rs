//! What the entries of a home promise.

use std::cell::Cell;
use std::collections::BTreeSet;

use sluicegate_core::book::LimitId;
use sluicegate_core::meter::Meter;

use super::{Entries, Entry, UNINDEXED_MAX};

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
    /// Entries that a part of a sweep has looked at, and the most that ever one did.
    static VISITS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

pub(super) fn begin_visits() {
    VISITS.set((0, VISITS.get().1));
}

pub(super) fn count_visit() {
    let (visits, most) = VISITS.get();
    VISITS.set((visits + 1, most.max(visits + 1)));
}

pub(in crate::meters) fn most_visits() -> usize {
    VISITS.take().1
}

pub(super) fn count_step() {
    STEPS.set(STEPS.get() + 1);
}

pub(in crate::meters) fn steps() -> u64 {
    STEPS.take()
}

fn entry(limit: u32, sharer: u32) -> Entry {
    Entry { limit: LimitId::from_number(limit), sharer, meter: Meter::default() }
}

/// Two limits for each of so many keys, and one that all share.
fn entries(keys: u32) -> Entries {
    let mut entries = Entries::default();
    entries.push(entry(0, 0));
    for key in 1..=keys {
        entries.push(entry(1, key));
        entries.push(entry(2, key));
    }
    entries
}

fn limits_of(entries: &Entries, sharer: u32) -> BTreeSet<u32> {
    entries.places_of(sharer).map(|place| entries[place].limit.get()).collect()
}

#[test]
fn a_key_is_found_in_as_many_steps_among_twenty_thousand_as_among_a_hundred() {
    let steps_among = |keys| {
        let entries = entries(keys);
        (1..=keys)
            .map(|key| {
                STEPS.set(0);
                assert_eq!(limits_of(&entries, key), BTreeSet::from([1, 2]));
                STEPS.get()
            })
            .max()
    };
    assert_eq!(steps_among(100), Some(3), "two entries, and that there are no more");
    assert_eq!(steps_among(20_000), Some(3));
}

#[test]
fn what_is_removed_is_gone_and_everything_else_is_found() {
    for keys in [3, 40, 500] {
        let mut entries = entries(keys);
        let is_wanted =
            |entry: &Entry| entry.sharer % 3 != 1 && !(entry.sharer % 5 == 2 && entry.limit.get() == 1);
        let mut from = usize::MAX;
        while let Some(next) = entries.retain_before(from, 7, |entry| is_wanted(entry)) {
            assert!(next < from);
            from = next;
        }
        for key in 0..=keys {
            let all = if key == 0 { vec![0] } else { vec![1, 2] };
            let left = all.into_iter().filter(|limit| is_wanted(&entry(*limit, key))).collect();
            assert_eq!(limits_of(&entries, key), left, "key {key} of {keys}");
        }
        entries.push(entry(9, 1));
        assert_eq!(limits_of(&entries, 1), BTreeSet::from([9]));
    }
}

#[test]
fn few_entries_keep_their_order_when_one_is_removed() {
    let mut entries = entries(3);
    assert_eq!(entries.retain_before(usize::MAX, usize::MAX, |entry| entry.sharer != 2), None);
    let left: Vec<_> = entries.iter().map(|entry| (entry.sharer, entry.limit.get())).collect();
    assert_eq!(left, [(0, 0), (1, 1), (1, 2), (3, 1), (3, 2)]);
}

#[test]
fn entries_that_became_few_can_be_sorted() {
    let mut entries = entries(u32::try_from(UNINDEXED_MAX).unwrap());
    assert_eq!(entries.retain_before(usize::MAX, usize::MAX, |entry| entry.sharer <= 1), None);
    entries.sort_by_key(|entry| 9 - entry.limit.get() as usize);
    let left: Vec<_> = entries.iter().map(|entry| entry.limit.get()).collect();
    assert_eq!(left, [2, 1, 0]);
}
