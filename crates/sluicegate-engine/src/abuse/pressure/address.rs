//! One address: which fingerprints were seen behind it within the window, and until when it is squeezed.
//!
//! Where few are too many, each is kept with the time it was last seen, so that a script gets no start more than the
//! policy says. Where many are, two sketches count those of the half window that is running and of the half before.

use arrayvec::ArrayVec;
use sluicegate_core::policy::Pressure;
use sluicegate_core::time::Timestamp;

use super::recent::{self, RECENT_MAX, Tag};
use crate::abuse::sketch::estimates;

const WORDS: usize = 32;
/// The words of one sketch.
const HALF: usize = WORDS / 2;
const BITS: usize = 32 * HALF;

/// For each number of bits set, how many fingerprints.
const FINGERPRINTS: [u16; BITS + 1] = estimates();

/// Above this, a sketch counts every second fingerprint, or every fourth, and so on: it holds some three thousand.
const COUNTED_MAX: u32 = 1_024;

/// How fingerprints are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Counting {
    /// One by one.
    #[default]
    Each,
    /// By sketches.
    Sketches,
}

impl Counting {
    fn of(pressure: &Pressure) -> Self {
        if pressure.fingerprints as usize <= RECENT_MAX { Self::Each } else { Self::Sketches }
    }
}

/// What is known of an address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Address {
    /// The fingerprints that were seen lately; or the sketch of the half window that is running, and that of the half
    /// before.
    words: [u32; WORDS],
    /// The window in nanoseconds; of sketches, which half of it is running, counted from the epoch.
    period: u64,
    /// Until when it is squeezed; an instant that has passed: it is not.
    pub(super) until: Timestamp,
    /// When it was last heard of.
    pub(super) heard: Timestamp,
    /// How many fingerprints there were when they were last counted.
    pub(super) fingerprints: u32,
    counting: Counting,
}

impl Address {
    /// One request with this fingerprint.
    pub(super) fn note(&mut self, fingerprint: u64, pressure: &Pressure, now: Timestamp) {
        if self.counting != Counting::of(pressure) {
            (self.words, self.period, self.counting) = ([0; WORDS], 0, Counting::of(pressure));
        }
        let before = self.heard;
        self.heard = self.heard.max(now);
        match self.counting {
            Counting::Each => {
                let window = pressure.window.as_nanos();
                // After a pause as long as the window, or under another window, no time means what it did.
                if self.period != window || now.since(before).0 >= window {
                    (self.words, self.period) = ([0; WORDS], window);
                }
                self.fingerprints = recent::note(&mut self.words, Tag::of(fingerprint), window, self.heard);
            }
            Counting::Sketches => {
                self.turn(now.as_nanos() / (pressure.window.as_nanos() / 2));
                let levels = sampling(pressure.fingerprints);
                if fingerprint.trailing_zeros() < levels {
                    return;
                }
                set(&mut self.words[..HALF], fingerprint >> 32);
                self.fingerprints = self.count() << levels;
            }
        }
        // Also when nobody new came: the pressure may go on for longer than a squeeze lasts.
        if self.fingerprints >= pressure.fingerprints {
            self.until = self.until.max(now.plus(pressure.length));
        }
    }

    /// The fingerprints that other nodes should know of before a request with this one: it, and those seen lately, if
    /// it was not seen and others were.
    pub(super) fn unknown(
        &self,
        fingerprint: u64,
        pressure: &Pressure,
        now: Timestamp,
    ) -> ArrayVec<u32, { RECENT_MAX + 1 }> {
        let (tag, window) = (Tag::of(fingerprint), pressure.window.as_nanos());
        let mut unknown = ArrayVec::new();
        match self.counting {
            _ if self.counting != Counting::of(pressure) => {}
            Counting::Each if self.period != window || now.since(self.heard).0 >= window => {}
            Counting::Each => {
                let seen = recent::live(&self.words, window, self.heard);
                unknown.extend(seen.filter(|seen| *seen != tag).map(Tag::get));
                if unknown.is_empty() || recent::live(&self.words, window, self.heard).any(|seen| seen == tag)
                {
                    return ArrayVec::new();
                }
                unknown.push(tag.get());
            }
            Counting::Sketches if self.has(fingerprint >> 32) => {}
            Counting::Sketches => unknown.push(tag.get()),
        }
        unknown
    }

    /// Moves on to the half that is running.
    fn turn(&mut self, half: u64) {
        match half.checked_sub(self.period) {
            Some(0) => return,
            Some(1) => self.words.copy_within(..HALF, HALF),
            // A thread that read the clock just before another.
            None if self.period - half == 1 => return,
            // Long ago; or the clock, or the window, is another one.
            _ => self.words[HALF..].fill(0),
        }
        self.words[..HALF].fill(0);
        self.period = half;
    }

    fn count(&self) -> u32 {
        let (now, before) = self.words.split_at(HALF);
        let set: u32 = now.iter().zip(before).map(|(now, before)| (now | before).count_ones()).sum();
        FINGERPRINTS[set as usize].into()
    }

    /// Whether a sketch has the bit of a hash.
    fn has(&self, hash: u64) -> bool {
        let (word, bit) = place(hash);
        (self.words[word] | self.words[HALF + word]) & bit != 0
    }
}

/// How many times the fingerprints are halved before they are counted.
fn sampling(fingerprints: u32) -> u32 {
    fingerprints.div_ceil(COUNTED_MAX).next_power_of_two().trailing_zeros()
}

/// Sets the bit of a hash.
fn set(sketch: &mut [u32], hash: u64) {
    let (word, bit) = place(hash);
    sketch[word] |= bit;
}

/// The word and the bit of a hash.
#[expect(clippy::cast_possible_truncation, reason = "cut to the number of bits")]
const fn place(hash: u64) -> (usize, u32) {
    let at = hash as usize % BITS;
    (at / 32, 1 << (at % 32))
}
