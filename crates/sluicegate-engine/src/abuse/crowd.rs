//! The crowd: whom clients beyond the cap of homes share their meters with.
//!
//! A client that gets no home of its own is seated in one of a fixed number of homes, chosen by its address. The home
//! has the limits of at least as many clients as were seated there for as long as anything they used still counts:
//! nobody is refused because there are too many clients, and who sends much is felt only by the few that share its
//! seat.

mod seat;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::hash::HomeHasher;

pub(crate) use self::seat::Members;

/// Where a client sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The home that it shares.
    pub home: HomeId,
    /// The home has the limits of 2^`members_log2` clients: at least as many as share it.
    pub members_log2: u8,
    number: u32,
}

/// Homes that are shared.
pub struct Crowd {
    hasher: HomeHasher,
    salt: u64,
    seats_log2: u32,
    /// Made by the first client that is seated: most nodes never have one.
    seats: OnceLock<Box<[Mutex<Members>]>>,
}

impl std::fmt::Debug for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crowd").field("seats_log2", &self.seats_log2).finish_non_exhaustive()
    }
}

impl Crowd {
    /// 65,536 homes, in 10 MiB.
    pub const SEATS_LOG2_DEFAULT: u32 = 16;
    /// The most seats there can be, as a power of two.
    pub const SEATS_LOG2_MAX: u32 = 24;
    /// The most clients a seat can tell apart, as a power of two.
    pub const MEMBERS_LOG2_MAX: u8 = 20;
    /// For how long a client is remembered, however soon what it uses is forgotten.
    const MEMORY_MIN: Nanos = Nanos::from_secs(12 * 3_600);

    /// A crowd of 2^`seats_log2` homes that are named with this hasher and salt. Who sits where is forgotten when the
    /// process ends, so the salt must be another each time: what was used in a home may not outlive its members.
    pub fn new(hasher: HomeHasher, salt: u64, seats_log2: u32) -> Self {
        Self { hasher, salt, seats_log2: seats_log2.min(Self::SEATS_LOG2_MAX), seats: OnceLock::new() }
    }

    /// The seat of the client whose own home this would be, behind the address with this keyed hash. What it uses
    /// counts for `memory` at the most. Those with limits of another kind, a tier for instance, have meters of their
    /// own at the same seat: what fits the larger limits would leave nothing of the smaller.
    pub fn seat(&self, home: HomeId, address: u64, kind: u32, memory: Nanos, now: Timestamp) -> Seat {
        let seats = self.seats.get_or_init(|| (0..1 << self.seats_log2).map(|_| Mutex::default()).collect());
        let number = place(address, seats.len());
        let memory = memory.max(Self::MEMORY_MIN);
        let members_log2 = seats[number as usize].lock().note(low(home), memory, now);
        let (salt, place, kind) = (self.salt.to_le_bytes(), number.to_le_bytes(), kind.to_le_bytes());
        let home = self.hasher.of_parts(&[b"crowd", &salt, &place, &kind]);
        Seat { home, members_log2, number }
    }

    /// The seat as it is by now, if others have come since.
    pub fn grown(&self, seat: &Seat) -> Option<Seat> {
        let members_log2 = self.seats.get()?.get(seat.number as usize)?.lock().log2();
        (members_log2 > seat.members_log2).then_some(Seat { members_log2, ..*seat })
    }

    /// Whether anybody was ever seated.
    pub fn is_empty(&self) -> bool {
        self.seats.get().is_none()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "cut to the number of seats")]
const fn place(address: u64, seats: usize) -> u32 {
    (address as usize & (seats - 1)) as u32
}

/// Half of a keyed hash is one.
#[expect(clippy::cast_possible_truncation, reason = "half is enough")]
const fn low(home: HomeId) -> u64 {
    home.0 as u64
}
