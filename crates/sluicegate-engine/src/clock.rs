//! The one place that reads a clock.
//!
//! Time runs with the monotonic clock, anchored to the wall clock when the process starts. Where the wall clock is
//! ahead, time jumps to it if that is plausible or confirmed (`gate.rs`). Where it was set back, time goes on as it
//! did; only where it was set back by more than an hour, and that has lasted or was confirmed, time steps back once.
//! See `docs/time.md`.

mod budget;
mod gate;
mod source;
mod store_gate;
#[cfg(test)]
mod tests;
mod witness;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sluicegate_core::policy::ClockSettings;
use sluicegate_core::time::{Nanos, Timestamp};

pub use gate::{ABSENCE_MAX, Change, Confirmation, HeldStep, Reading, STEP_MAX};

use gate::Gate;
use source::{boottime, since_ns, wall};
use store_gate::StoreGate;

/// For how long the store's time is known after it was asked.
const STORE_FRESH: Duration = Duration::from_secs(10);

/// Where `now` comes from.
#[derive(Debug)]
pub struct Clock {
    source: Source,
    /// The timeline minus monotonic time.
    offset_ns: AtomicU64,
    hold_for_ns: AtomicU64,
    gates: Mutex<Gates>,
}

#[derive(Debug)]
enum Source {
    System { anchor: Instant },
    Manual { monotonic_ns: AtomicU64, reading: Mutex<Option<Reading>> },
}

#[derive(Debug)]
struct Gates {
    wall: Gate,
    store: StoreGate,
    /// The store's time, and the monotonic time when it was asked.
    store_at: Option<(Timestamp, Nanos)>,
}

/// What following the clocks changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Followed {
    /// The wall clock.
    pub wall: Change,
    /// The store's time.
    pub store: Change,
}

/// The steps that are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockStatus {
    /// Of the wall clock.
    pub wall: Option<HeldStep>,
    /// Of the store's time.
    pub store: Option<HeldStep>,
    /// How far the wall clock is behind the timeline, if that is too far.
    pub behind: Option<Nanos>,
}

impl ClockStatus {
    /// Whether no forward step is held.
    pub const fn is_plausible(&self) -> bool {
        self.wall.is_none() && self.store.is_none()
    }

    /// Whether there is something that an operator can confirm.
    pub const fn is_confirmable(&self) -> bool {
        !self.is_plausible() || self.behind.is_some()
    }
}

impl Clock {
    /// The system's clock. `not_before` is the latest instant on record, the epoch if there is none.
    pub fn system(not_before: Timestamp) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the edge of the process")]
        let anchor = Instant::now();
        let reading = Reading { wall: wall(), monotonic: Nanos(0), boottime: boottime(), store: None };
        Self::new(Source::System { anchor }, &reading, not_before)
    }

    /// A clock that stands still until it is set: for tests.
    pub fn fixed(at: Timestamp) -> Self {
        let reading = Reading { wall: at, monotonic: Nanos(0), boottime: Nanos(0), store: None };
        let source = Source::Manual { monotonic_ns: AtomicU64::new(0), reading: Mutex::new(None) };
        Self::new(source, &reading, Timestamp::EPOCH)
    }

    /// A clock that reads what [`Clock::read`] says: for tests of steps.
    pub fn manual(reading: Reading, not_before: Timestamp) -> Self {
        let monotonic_ns = AtomicU64::new(reading.monotonic.0);
        let source = Source::Manual { monotonic_ns, reading: Mutex::new(Some(reading)) };
        Self::new(source, &reading, not_before)
    }

    fn new(source: Source, reading: &Reading, not_before: Timestamp) -> Self {
        let wall = Gate::start(reading, not_before);
        Self {
            source,
            offset_ns: AtomicU64::new(wall.offset_ns()),
            hold_for_ns: AtomicU64::new(ClockSettings::HOLD_DEFAULT.0),
            gates: Mutex::new(Gates { wall, store: StoreGate::default(), store_at: None }),
        }
    }

    /// Sets a clock that stands still. The system's clock is not touched.
    pub fn set(&self, at: Timestamp) {
        if let Source::Manual { monotonic_ns, .. } = &self.source {
            let offset_ns = at.as_nanos().saturating_sub(monotonic_ns.load(Ordering::Relaxed));
            self.offset_ns.store(offset_ns, Ordering::Relaxed);
        }
    }

    /// What a manual clock reads from now on. The system's clock is not touched.
    pub fn read(&self, now: Reading) {
        if let Source::Manual { monotonic_ns, reading } = &self.source {
            monotonic_ns.store(now.monotonic.0, Ordering::Relaxed);
            *reading.lock() = Some(now);
        }
    }

    /// The instant.
    #[inline]
    pub fn now(&self) -> Timestamp {
        let monotonic_ns = match &self.source {
            Source::System { anchor } => since_ns(*anchor),
            Source::Manual { monotonic_ns, .. } => monotonic_ns.load(Ordering::Relaxed),
        };
        Timestamp::from_nanos(self.offset_ns.load(Ordering::Relaxed).saturating_add(monotonic_ns))
    }

    /// How long the process has run. Steps of the wall clock do not change it.
    pub fn uptime(&self) -> Nanos {
        match &self.source {
            Source::System { anchor } => Nanos(since_ns(*anchor)),
            Source::Manual { monotonic_ns, reading } if reading.lock().is_some() => {
                Nanos(monotonic_ns.load(Ordering::Relaxed))
            }
            // It has no other time.
            Source::Manual { .. } => Nanos(self.now().as_nanos()),
        }
    }

    /// How long a forward step must last until it is followed.
    pub fn hold_for(&self, hold_for: Nanos) {
        self.hold_for_ns.store(hold_for.0, Ordering::Relaxed);
    }

    /// The time of the shared store, which was asked just now.
    pub fn hear_store(&self, at: Timestamp) {
        let Some(reading) = self.reading(None) else { return };
        self.gates.lock().store_at = Some((at, reading.monotonic));
    }

    /// Follows the wall clock and the store's time where they are ahead and plausible. Called about once a second.
    pub fn follow(&self) -> Followed {
        let (mut gates, hold_for) = (self.gates.lock(), self.held_for());
        let Some(reading) = self.reading(gates.store_at) else {
            return Followed { wall: Change::None, store: Change::None };
        };
        let wall = gates.wall.observe(&reading, hold_for);
        let now = gates.wall.now(reading.monotonic);
        let store = gates.store.observe(&reading, now, hold_for);
        self.offset_ns.store(gates.wall.offset_ns(), Ordering::Relaxed);
        Followed { wall, store }
    }

    /// An operator confirms the clocks that are held.
    pub fn confirm(&self) -> Followed {
        let mut gates = self.gates.lock();
        let Some(reading) = self.reading(gates.store_at) else {
            return Followed { wall: Change::None, store: Change::None };
        };
        let wall = gates.wall.confirm(&reading);
        let now = gates.wall.now(reading.monotonic);
        let store = gates.store.confirm(&reading, now);
        self.offset_ns.store(gates.wall.offset_ns(), Ordering::Relaxed);
        Followed { wall, store }
    }

    /// The steps that are held.
    pub fn status(&self) -> ClockStatus {
        let (gates, hold_for) = (self.gates.lock(), self.held_for());
        let behind = gates.wall.behind();
        ClockStatus { wall: gates.wall.held(hold_for), store: gates.store.held(hold_for), behind }
    }

    /// By how much the store's time may be ahead of this timeline, beyond [`STEP_MAX`].
    pub fn store_lead(&self) -> Nanos {
        self.gates.lock().store.lead()
    }

    fn held_for(&self) -> Nanos {
        Nanos(self.hold_for_ns.load(Ordering::Relaxed))
    }

    /// All clocks. Nothing for one that stands still.
    fn reading(&self, store_at: Option<(Timestamp, Nanos)>) -> Option<Reading> {
        let mut reading = match &self.source {
            Source::System { anchor } => {
                let monotonic = Nanos(since_ns(*anchor));
                Reading { wall: wall(), monotonic, boottime: boottime(), store: None }
            }
            Source::Manual { reading, .. } => (*reading.lock())?,
        };
        if let Some((at, asked)) = store_at {
            let age = Nanos(reading.monotonic.0.saturating_sub(asked.0));
            let is_fresh = u128::from(age.0) <= STORE_FRESH.as_nanos();
            reading.store = reading.store.or_else(|| is_fresh.then(|| at.plus(age)));
        }
        Some(reading)
    }
}
