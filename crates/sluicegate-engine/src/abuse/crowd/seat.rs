//! How many clients share a seat: so few that each is known, or a HyperLogLog sketch; once for the time that is running
//! and once for the time before it.
//!
//! Limits must never be those of fewer clients than came. So the first are counted one by one, and what the sketch says
//! is taken three times: it is some 9 % off, and a third of the truth is beyond anything that ever happens.

use sluicegate_core::time::{Nanos, Timestamp};

use super::Crowd;
use crate::abuse::sketch::estimates;

/// So many are known one by one.
const KNOWN: usize = 8;

const REGISTERS: usize = 128;
const RANK_MAX: u8 = 15;

/// For each number of registers in use, how many clients.
const FEW: [u16; REGISTERS + 1] = estimates();
/// Up to so many in use they alone are asked; the ranks say too much while many are unused.
const FEW_MAX: usize = 96;

/// 128² × 0.7153, the constant of the estimate with 128 registers; scaled by 2^15, as the sum below it is.
const SCALE: u64 = 11_719 << RANK_MAX;

/// What the sketch says is taken so many times.
const MARGIN: u64 = 3;

/// The highest rank seen by each register.
#[derive(Clone, Copy, Debug)]
struct Sketch([u8; REGISTERS / 2]);

impl Sketch {
    const EMPTY: Self = Self([0; REGISTERS / 2]);

    fn rank(&self, at: usize) -> u8 {
        (self.0[at / 2] >> (at % 2 * 4)) & RANK_MAX
    }

    fn note(&mut self, client: u64) -> Noted {
        let at = usize::from(client.to_le_bytes()[0]) % REGISTERS;
        // How many bits above the register's are unset before the first that is not.
        let zeros = (client >> 8).trailing_zeros().min(u32::from(RANK_MAX) - 1);
        let rank = zeros.to_le_bytes()[0] + 1;
        if rank <= self.rank(at) {
            return Noted::Before;
        }
        let shift = at % 2 * 4;
        self.0[at / 2] = (self.0[at / 2] & !(RANK_MAX << shift)) | (rank << shift);
        Noted::New
    }
}

/// Whether a client changed what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Noted {
    New,
    Before,
}

/// Who came within some time.
#[derive(Clone, Copy, Debug)]
enum Came {
    /// These, and nobody else.
    Few {
        count: u8,
        clients: [u64; KNOWN],
    },
    Many(Sketch),
}

impl Came {
    const NOBODY: Self = Self::Few { count: 0, clients: [0; KNOWN] };

    fn known(&self) -> Option<&[u64]> {
        match self {
            Self::Few { count, clients } => Some(&clients[..usize::from(*count)]),
            Self::Many(_) => None,
        }
    }

    fn sketch(&self) -> Sketch {
        match self {
            Self::Few { .. } => {
                let mut sketch = Sketch::EMPTY;
                for client in self.known().into_iter().flatten() {
                    sketch.note(*client);
                }
                sketch
            }
            Self::Many(sketch) => *sketch,
        }
    }

    fn note(&mut self, client: u64) -> Noted {
        match self {
            Self::Many(sketch) => sketch.note(client),
            Self::Few { count, clients } => {
                let known = usize::from(*count);
                if clients[..known].contains(&client) {
                    return Noted::Before;
                }
                if let Some(free) = clients.get_mut(known) {
                    (*free, *count) = (client, *count + 1);
                } else {
                    let mut sketch = self.sketch();
                    sketch.note(client);
                    *self = Self::Many(sketch);
                }
                Noted::New
            }
        }
    }
}

/// Who shares a seat.
#[derive(Debug)]
pub(crate) struct Members {
    now: Came,
    before: Came,
    /// When the time that is running ends, and becomes the time before; in seconds, which take less room.
    ends: u32,
    /// How many they are, as a power of two, rounded up.
    log2: u8,
}

impl Default for Members {
    fn default() -> Self {
        Self { now: Came::NOBODY, before: Came::NOBODY, ends: 0, log2: 0 }
    }
}

impl Members {
    /// Counts a client in, who is remembered for `memory` at the least and twice that at the most. How many there are,
    /// as a power of two, rounded up.
    pub(crate) fn note(&mut self, client: u64, memory: Nanos, now: Timestamp) -> u8 {
        // A clock that stepped back forgets nobody.
        let turned = now.as_secs() >= self.ends;
        if turned {
            let until = |from: Timestamp| from.plus(memory).as_secs().saturating_add(1);
            let next = until(Timestamp::from_secs(self.ends));
            (self.before, self.ends) =
                if now.as_secs() < next { (self.now, next) } else { (Came::NOBODY, until(now)) };
            self.now = Came::NOBODY;
        }
        if self.now.note(client) == Noted::New || turned {
            self.log2 = self.count().next_power_of_two().trailing_zeros().to_le_bytes()[0];
        }
        self.log2()
    }

    pub(super) fn log2(&self) -> u8 {
        self.log2.min(Crowd::MEMBERS_LOG2_MAX)
    }

    /// At least as many as there are.
    fn count(&self) -> u64 {
        if let (Some(now), Some(before)) = (self.now.known(), self.before.known()) {
            let both = before.iter().filter(|client| now.contains(client)).count();
            return (now.len() + before.len() - both) as u64;
        }
        let most = self.now.known().map_or(0, <[u64]>::len) + self.before.known().map_or(0, <[u64]>::len);
        // More than are known one by one, whatever the sketch says.
        (estimate(&self.now.sketch(), &self.before.sketch()) * MARGIN).max((most + KNOWN + 1) as u64)
    }
}

/// How many different clients two sketches have seen, about.
fn estimate(one: &Sketch, other: &Sketch) -> u64 {
    let (mut used, mut sum) = (0, 0);
    for at in 0..REGISTERS {
        let rank = one.rank(at).max(other.rank(at));
        used += usize::from(rank > 0);
        sum += 1_u64 << (RANK_MAX - rank);
    }
    let (few, many) = (u64::from(FEW[used]), SCALE / sum);
    if used <= FEW_MAX { few } else { few.max(many) }
}
