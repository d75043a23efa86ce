//! The last change heard of, for each of many groups of names.
//!
//! Names share a mark. A mark that was raised for another name keeps an answer from being remembered that might be: it
//! is asked for once more, and the next answer goes further.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

const GROUPS: usize = 4_096;

#[derive(Debug)]
pub(super) struct Marks {
    state: RandomState,
    marks: Box<[AtomicU64]>,
}

impl Marks {
    /// The names of keys.
    pub(super) const KEY: u8 = 0;
    /// The serials of accounts.
    pub(super) const ACCOUNT: u8 = 1;

    pub(super) fn new() -> Self {
        Self { state: RandomState::new(), marks: (0..GROUPS).map(|_| AtomicU64::new(0)).collect() }
    }

    fn of(&self, kind: u8, name: &[u8]) -> &AtomicU64 {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let group = self.state.hash_one((kind, name)) as usize % GROUPS;
        &self.marks[group]
    }

    pub(super) fn raise(&self, kind: u8, name: &[u8], change: u64) {
        self.of(kind, name).fetch_max(change, Ordering::AcqRel);
    }

    pub(super) fn get(&self, kind: u8, name: &[u8]) -> u64 {
        self.of(kind, name).load(Ordering::Acquire)
    }

    pub(super) fn clear(&self) {
        self.marks.iter().for_each(|mark| mark.store(0, Ordering::Release));
    }
}
