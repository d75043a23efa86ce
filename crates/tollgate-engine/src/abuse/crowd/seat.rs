//! How many clients share a seat: a small HyperLogLog sketch for this half day, and one for the half before.
//!
//! It is some 20 % off, and what it says is rounded up to a power of two from half as many again.

use tollgate_core::time::{Nanos, Timestamp};

use super::Crowd;
use crate::abuse::sketch::estimates;

/// A client that was not heard of for a day is forgotten; one that was within half a day is not.
const HALF: Nanos = Nanos::from_secs(12 * 3_600);

const REGISTERS: u32 = 32;
const RANK_MAX: u8 = 15;

/// For each number of registers in use, how many clients. It is better than the ranks while some are unused.
const FEW: [u16; REGISTERS as usize + 1] = estimates();

/// 32² × 0.697, the constant of the estimate with 32 registers; scaled by 2^15, as the sum below it is.
const SCALE: u64 = 714 << RANK_MAX;

/// The highest rank seen by each register.
#[derive(Clone, Copy, Debug, Default)]
struct Sketch([u8; REGISTERS as usize / 2]);

impl Sketch {
    fn rank(&self, at: usize) -> u8 {
        (self.0[at / 2] >> (at % 2 * 4)) & RANK_MAX
    }

    fn note(&mut self, client: u64) {
        let at = usize::from(client.to_le_bytes()[0]) % REGISTERS as usize;
        // How many bits above the register's are unset before the first that is not.
        let zeros = (client >> 8).trailing_zeros().min(u32::from(RANK_MAX) - 1);
        let rank = zeros.to_le_bytes()[0] + 1;
        if rank > self.rank(at) {
            let shift = at % 2 * 4;
            self.0[at / 2] = (self.0[at / 2] & !(RANK_MAX << shift)) | (rank << shift);
        }
    }
}

/// Who shares a seat.
#[derive(Debug, Default)]
pub(super) struct Members {
    now: Sketch,
    before: Sketch,
    /// Which half day is running, counted from the epoch.
    half: u64,
}

impl Members {
    /// Counts a client in. How many there are, as a power of two, rounded up.
    pub(super) fn note(&mut self, client: u64, now: Timestamp) -> u8 {
        self.turn(now.as_nanos() / HALF.0);
        self.now.note(client);
        let count = self.count();
        // Alone is certain; otherwise in doubt there are more.
        let generous = if count == 1 { 1 } else { count + count / 2 };
        let log2 = generous.next_power_of_two().trailing_zeros();
        log2.to_le_bytes()[0].min(Crowd::MEMBERS_LOG2_MAX)
    }

    fn turn(&mut self, half: u64) {
        match half.checked_sub(self.half) {
            // A clock that stepped back over noon forgets nobody.
            None | Some(0) => return,
            Some(1) => self.before = self.now,
            Some(_) => self.before = Sketch::default(),
        }
        (self.now, self.half) = (Sketch::default(), half);
    }

    fn count(&self) -> u64 {
        let (mut used, mut sum) = (0, 0);
        for at in 0..REGISTERS as usize {
            let rank = self.now.rank(at).max(self.before.rank(at));
            used += usize::from(rank > 0);
            sum += 1_u64 << (RANK_MAX - rank);
        }
        let (few, many) = (u64::from(FEW[used]), SCALE / sum);
        if used < REGISTERS as usize { few } else { many.max(few) }
    }
}
