//! The meters of a home that has outgrown its cell. Few are searched one by one; many are indexed by who shares them,
//! so that a decision for one key of an account costs the same whether the account has three keys or 20,000.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Index, IndexMut};

use sluicegate_core::book::LimitId;
use sluicegate_core::meter::Meter;
use sluicegate_core::plan::CHARGES_MAX;

/// A meter, with its limit and who shares it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) limit: LimitId,
    pub(crate) sharer: u32,
    pub(crate) meter: Meter,
}

/// Up to so many are searched one by one. The meters of one plan are never indexed: they are sorted.
const UNINDEXED_MAX: usize = 32;
const _: () = assert!(UNINDEXED_MAX >= CHARGES_MAX);

/// Meters in no particular order.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    all: Vec<Entry>,
    index: Option<Index32>,
}

/// For each sharer the place of its latest entry, and for each entry the place of the one before of the same sharer.
#[derive(Debug, Default)]
struct Index32 {
    last: HashMap<u32, u32, BuildHasherDefault<NumberHasher>>,
    /// Parallel to the entries. [`NONE`]: it is the sharer's first.
    before: Vec<u32>,
}

/// No place.
const NONE: u32 = u32::MAX;

impl From<Vec<Entry>> for Entries {
    fn from(all: Vec<Entry>) -> Self {
        let mut entries = Self { all, index: None };
        entries.index_if_many();
        entries
    }
}

impl Index<usize> for Entries {
    type Output = Entry;

    fn index(&self, place: usize) -> &Entry {
        &self.all[place]
    }
}

/// Who shares an entry must stay as it is.
impl IndexMut<usize> for Entries {
    fn index_mut(&mut self, place: usize) -> &mut Entry {
        &mut self.all[place]
    }
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.all.iter()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        let sharer = entry.sharer;
        self.all.push(entry);
        match &mut self.index {
            Some(index) => index.push(sharer),
            None => self.index_if_many(),
        }
    }

    /// Sorts entries that are few.
    pub(crate) fn sort_by_key(&mut self, key: impl FnMut(&Entry) -> usize) {
        debug_assert!(self.index.is_none(), "places of indexed entries stay");
        if self.index.is_none() {
            self.all.sort_by_key(key);
        }
    }

    /// The places of a sharer's entries.
    pub(crate) fn places_of(&self, sharer: u32) -> Places<'_> {
        let next = match &self.index {
            None => 0,
            Some(index) => index.last.get(&sharer).copied().unwrap_or(NONE),
        };
        Places { entries: self, sharer, next }
    }

    /// Looks at up to `visits` entries from the place before `from` down, and removes those that are not wanted. Says
    /// from where to go on; nothing: all before `from` were looked at.
    pub(crate) fn retain_before(
        &mut self,
        from: usize,
        visits: usize,
        mut is_wanted: impl FnMut(&mut Entry) -> bool,
    ) -> Option<usize> {
        let from = from.min(self.all.len());
        let until = from.saturating_sub(visits);
        #[cfg(test)]
        tests::begin_visits();
        for place in (until..from).rev() {
            #[cfg(test)]
            tests::count_visit();
            if !is_wanted(&mut self.all[place]) {
                self.remove(place);
            }
        }
        if self.all.len() <= UNINDEXED_MAX {
            self.index = None;
        }
        (until > 0).then_some(until)
    }

    /// Removes an entry. The last one takes its place, or, where order matters, all behind it move up.
    fn remove(&mut self, place: usize) {
        let Some(index) = &mut self.index else {
            drop(self.all.remove(place));
            return;
        };
        let last = self.all.len() - 1;
        index.unlink(self.all[place].sharer, place);
        if last != place {
            index.relink(self.all[last].sharer, last, place);
        }
        index.before.swap_remove(place);
        drop(self.all.swap_remove(place));
    }

    fn index_if_many(&mut self) {
        if self.all.len() > UNINDEXED_MAX {
            let mut index = Index32::default();
            self.all.iter().for_each(|entry| index.push(entry.sharer));
            self.index = Some(index);
        }
    }
}

impl Index32 {
    /// Notes the entry behind all others.
    fn push(&mut self, sharer: u32) {
        // A home has fewer than 2^32 meters: keys are numbered in 32 bits, and no memory holds as many.
        let place = u32::try_from(self.before.len()).unwrap_or(NONE);
        let before = self.last.insert(sharer, place);
        self.before.push(before.unwrap_or(NONE));
    }

    /// Takes the entry at `place` out of its sharer's chain.
    fn unlink(&mut self, sharer: u32, place: usize) {
        let before = self.before[place];
        match self.pointer_to(sharer, place) {
            Some(behind) => self.before[behind] = before,
            None if before == NONE => {
                self.last.remove(&sharer);
            }
            None => {
                self.last.insert(sharer, before);
            }
        }
    }

    /// The entry at `from` moves to `to`.
    fn relink(&mut self, sharer: u32, from: usize, to: usize) {
        let moved = u32::try_from(to).unwrap_or(NONE);
        match self.pointer_to(sharer, from) {
            Some(behind) => self.before[behind] = moved,
            None => {
                self.last.insert(sharer, moved);
            }
        }
    }

    /// The entry whose predecessor is at `place`. Nothing: it is the sharer's last.
    fn pointer_to(&self, sharer: u32, place: usize) -> Option<usize> {
        let mut at = *self.last.get(&sharer)? as usize;
        if at == place {
            return None;
        }
        while self.before[at] as usize != place {
            at = self.before[at] as usize;
        }
        Some(at)
    }
}

/// The places of one sharer's entries.
pub(crate) struct Places<'e> {
    entries: &'e Entries,
    sharer: u32,
    next: u32,
}

impl Iterator for Places<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        #[cfg(test)]
        tests::count_step();
        match &self.entries.index {
            Some(index) => {
                let place = self.next as usize;
                self.next = *index.before.get(place)?;
                Some(place)
            }
            None => {
                let from = self.next as usize;
                let rest = self.entries.all.get(from..)?;
                let place = from + rest.iter().position(|entry| entry.sharer == self.sharer)?;
                self.next = u32::try_from(place + 1).unwrap_or(NONE);
                Some(place)
            }
        }
    }
}

/// Keys are numbered by this program, so nobody chooses which of them fall together.
#[derive(Debug, Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        // The golden ratio: the high bits, which hash maps compare, depend on all of the number.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

#[cfg(test)]
pub(super) mod tests;
