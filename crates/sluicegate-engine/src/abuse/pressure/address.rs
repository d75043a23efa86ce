//! One address: which fingerprints were seen behind it, in two halves of the window, and until when it is squeezed.

use sluicegate_core::policy::Pressure;
use sluicegate_core::time::Timestamp;

use crate::abuse::sketch::estimates;

const WORDS: usize = 8;
const BITS: usize = 64 * WORDS;

/// For each number of bits set, how many fingerprints.
const FINGERPRINTS: [u16; BITS + 1] = estimates();

/// Above this, a sketch counts every second fingerprint, or every fourth, and so on: it holds some three thousand.
const COUNTED_MAX: u32 = 1_024;

type Sketch = [u64; WORDS];

/// What is known of an address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Address {
    /// Those of the half window that is running.
    now: Sketch,
    /// Those of the half before.
    before: Sketch,
    /// Which half is running, counted from the epoch.
    half: u64,
    /// Until when it is squeezed; an instant that has passed: it is not.
    pub(super) until: Timestamp,
    /// When it was last heard of.
    pub(super) heard: Timestamp,
    /// How many fingerprints there were when they were last counted.
    pub(super) fingerprints: u32,
}

impl Address {
    /// One request with this fingerprint.
    pub(super) fn note(&mut self, fingerprint: u64, pressure: &Pressure, now: Timestamp) {
        self.heard = self.heard.max(now);
        self.turn(now.as_nanos() / (pressure.window.as_nanos() / 2));
        let levels = sampling(pressure.fingerprints);
        if fingerprint.trailing_zeros() < levels {
            return;
        }
        set(&mut self.now, fingerprint >> 32);
        // Counted also when nobody new came: the pressure may go on for longer than a squeeze lasts.
        self.fingerprints = self.count() << levels;
        if self.fingerprints >= pressure.fingerprints {
            self.until = self.until.max(now.plus(pressure.length));
        }
    }

    /// Moves on to the half that is running.
    fn turn(&mut self, half: u64) {
        match half.checked_sub(self.half) {
            Some(0) => return,
            Some(1) => self.before = self.now,
            // A thread that read the clock just before another.
            None if self.half - half == 1 => return,
            // Long ago; or the clock, or the window, is another one.
            _ => self.before = Sketch::default(),
        }
        (self.now, self.half) = (Sketch::default(), half);
    }

    fn count(&self) -> u32 {
        let set: u32 =
            self.now.iter().zip(self.before).map(|(now, before)| (now | before).count_ones()).sum();
        FINGERPRINTS[set as usize].into()
    }
}

/// How many times the fingerprints are halved before they are counted.
fn sampling(fingerprints: u32) -> u32 {
    fingerprints.div_ceil(COUNTED_MAX).next_power_of_two().trailing_zeros()
}

/// Sets the bit of a hash.
fn set(sketch: &mut Sketch, hash: u64) {
    let at = hash % BITS as u64;
    sketch[(at / 64) as usize] |= 1 << (at % 64);
}
