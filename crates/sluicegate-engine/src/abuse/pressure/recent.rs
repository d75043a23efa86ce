//! Fingerprints that were seen within the window, one by one: 22 bits of each, and 10 bits for when it was last seen.

use sluicegate_core::time::Timestamp;

/// How many can be counted one by one.
pub(super) const RECENT_MAX: usize = 32;

/// The window has so many ticks.
const TICKS: u64 = 256;
/// Times are known modulo so many ticks: four windows. What is older than one is forgotten before it seems new.
const TIME_BITS: u32 = 10;
const TIME_MASK: u32 = (1 << TIME_BITS) - 1;

/// What is kept of a fingerprint, never 0. Of twenty, two fall together once in twenty thousand times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag(u32);

impl Tag {
    pub(super) const fn of(fingerprint: u64) -> Self {
        let tag = (fingerprint >> (64 - (32 - TIME_BITS))) as u32;
        Self(if tag == 0 { 1 } else { tag })
    }

    pub(super) const fn get(self) -> u32 {
        self.0
    }
}

/// One request with this fingerprint at `now`, which is never before an earlier one, and less than the window after it.
/// How many were seen within the window.
pub(super) fn note(entries: &mut [u32; RECENT_MAX], tag: Tag, window: u64, now: Timestamp) -> u32 {
    let tick = tick(window, now);
    let (mut count, mut place, mut oldest) = (0, None, (0, 0));
    for (at, entry) in entries.iter_mut().enumerate() {
        let age = age(*entry, tick);
        if *entry >> TIME_BITS == tag.0 {
            place = Some(at);
            continue;
        }
        if *entry == 0 || u64::from(age) >= TICKS {
            // An empty place, or one that is: the first that is found, unless the fingerprint has one.
            *entry = 0;
            oldest = (u32::MAX, if oldest.0 == u32::MAX { oldest.1 } else { at });
            continue;
        }
        count += 1;
        if age >= oldest.0 {
            oldest = (age, at);
        }
    }
    let at = place.unwrap_or(oldest.1);
    // Where no place was left, the oldest gave way.
    count -= u32::from(place.is_none() && oldest.0 != u32::MAX);
    entries[at] = tag.0 << TIME_BITS | tick;
    count + 1
}

/// Those that were seen within the window.
pub(super) fn live(entries: &[u32; RECENT_MAX], window: u64, now: Timestamp) -> impl Iterator<Item = Tag> {
    let tick = tick(window, now);
    let is_live = move |entry: &&u32| **entry != 0 && u64::from(age(**entry, tick)) < TICKS;
    entries.iter().filter(is_live).map(|entry| Tag(entry >> TIME_BITS))
}

/// How many ticks ago an entry was made.
const fn age(entry: u32, tick: u32) -> u32 {
    tick.wrapping_sub(entry) & TIME_MASK
}

#[expect(clippy::cast_possible_truncation, reason = "cut to the bits that are kept")]
fn tick(window: u64, now: Timestamp) -> u32 {
    (now.as_nanos() / (window / TICKS).max(1)) as u32 & TIME_MASK
}
