//! Pressure: how many different fingerprints there are behind an address, in a table of fixed size.
//!
//! An address is squeezed, never blocked: a household may share it with an attacker. Up to 32 fingerprints are
//! counted one by one. Of more, one older than the window is never counted, one younger than half of it always is, and
//! the count is right to a few percent. Where a set is full the address gives way that was quiet for longest, and a
//! squeezed one only to a newcomer that finds nothing else.

mod address;
#[cfg(test)]
mod properties;
mod recent;
mod set;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use arrayvec::ArrayVec;
use parking_lot::Mutex;
use sluicegate_core::policy::Pressure;
use sluicegate_core::time::Timestamp;

use self::recent::RECENT_MAX;
use self::set::Set;

/// Whether the clients behind an address have smaller limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Squeeze {
    /// They have not.
    No,
    /// They have, until then.
    Until(Timestamp),
}

/// An address that is squeezed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Squeezed {
    /// Its keyed hash.
    pub address: u64,
    /// Until when.
    pub until: Timestamp,
    /// How many fingerprints were seen behind it within the window, as far as is known.
    pub fingerprints: u32,
}

/// What stands for the fingerprints that other nodes should know of.
pub(crate) type UnknownFingerprints = ArrayVec<u32, { RECENT_MAX + 1 }>;

/// The fingerprints behind addresses.
pub struct PressureTable {
    sets_log2: u32,
    /// Made by the first client: a policy without pressure pays nothing.
    sets: OnceLock<Box<[Mutex<Set>]>>,
}

impl std::fmt::Debug for PressureTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PressureTable").field("sets_log2", &self.sets_log2).finish_non_exhaustive()
    }
}

/// Room for 65,536 addresses: 10 MiB.
impl Default for PressureTable {
    fn default() -> Self {
        Self::new(13)
    }
}

impl PressureTable {
    /// The most sets there can be, as a power of two: 1.3 GiB.
    pub const SETS_LOG2_MAX: u32 = 20;

    /// A table of 2^`sets_log2` sets of eight addresses.
    pub fn new(sets_log2: u32) -> Self {
        Self { sets_log2: sets_log2.min(Self::SETS_LOG2_MAX), sets: OnceLock::new() }
    }

    /// One request with this fingerprint from this address, both as keyed hashes.
    pub fn note(&self, address: u64, fingerprint: u64, pressure: &Pressure, now: Timestamp) -> Squeeze {
        self.made_set_of(address).lock().note(address, fingerprint, pressure, now)
    }

    /// One request, as [`PressureTable::note`]. The fingerprints behind its address that other nodes should know of
    /// before it is decided. None: this node has seen its fingerprint, or it is the first, or the address is squeezed.
    pub(crate) fn note_unknown(
        &self,
        address: u64,
        fingerprint: u64,
        pressure: &Pressure,
        now: Timestamp,
    ) -> UnknownFingerprints {
        self.made_set_of(address).lock().note_unknown(address, fingerprint, pressure, now)
    }

    /// Has an address be squeezed until then, because nodes together have seen too many fingerprints behind it.
    pub(crate) fn squeeze(&self, address: u64, until: Timestamp) {
        if let Some(set) = self.set_of(address) {
            set.lock().squeeze(address, until);
        }
    }

    /// Whether an address is squeezed.
    pub fn look(&self, address: u64, now: Timestamp) -> Squeeze {
        match self.find(address, now) {
            Some(squeezed) => Squeeze::Until(squeezed.until),
            None => Squeeze::No,
        }
    }

    /// What is known of an address, if it is squeezed.
    pub fn find(&self, address: u64, now: Timestamp) -> Option<Squeezed> {
        self.set_of(address)?.lock().look(address, now)
    }

    /// The addresses behind `after` that are squeezed, in the order of the table, `max` of them at the most.
    pub fn list(&self, after: Option<u64>, now: Timestamp, max: usize) -> Vec<Squeezed> {
        let mut found = Vec::new();
        let Some(sets) = self.sets.get() else { return found };
        let first = after.map_or(0, |after| place(after, sets.len()));
        for (at, set) in sets.iter().enumerate().skip(first) {
            let mut here: Vec<Squeezed> = set.lock().squeezed(now).collect();
            here.sort_unstable_by_key(|squeezed| squeezed.address);
            let is_behind = |address| at > first || after.is_none_or(|after| address > after);
            let here = here.into_iter().filter(|squeezed| is_behind(squeezed.address));
            found.extend(here.take(max - found.len()));
            if found.len() == max {
                break;
            }
        }
        found
    }

    /// Forgets what is known of an address: nobody behind it is squeezed until it earns it again.
    pub fn forget(&self, address: u64) {
        if let Some(set) = self.set_of(address) {
            set.lock().forget(address);
        }
    }

    fn made_set_of(&self, address: u64) -> &Mutex<Set> {
        let sets = self.sets.get_or_init(|| (0..1 << self.sets_log2).map(|_| Mutex::default()).collect());
        &sets[place(address, sets.len())]
    }

    fn set_of(&self, address: u64) -> Option<&Mutex<Set>> {
        self.sets.get().map(|sets| &sets[place(address, sets.len())])
    }
}

/// The low bits of a keyed hash choose the set.
#[expect(clippy::cast_possible_truncation, reason = "cut to the number of sets")]
const fn place(address: u64, sets: usize) -> usize {
    address as usize & (sets - 1)
}
