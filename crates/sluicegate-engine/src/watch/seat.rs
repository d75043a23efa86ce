//! Where the meters of subjects without an account are: in a home of their own, or, beyond the number of those, in one
//! that several share. Callers without a key have one bound, and those that come with the question another.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sluicegate_core::plan::{HomeId, SubjectClass};
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::meters::MeterTable;

use crate::abuse::{Crowd, Seat};

/// The homes are counted once in so many subjects: that takes as long as deciding on one.
const COUNT_EVERY: u64 = 64;

/// What takes a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SeatKind {
    /// A caller behind this address, or with this name.
    Caller { address: u64 },
    /// An address prefix under pressure.
    Prefix { address: u64 },
}

/// Who gets a home of its own.
#[derive(Debug)]
pub(crate) struct Seats {
    clients: Class,
    asked: Class,
    /// Of address prefixes under pressure. Apart from the clients, who would be counted as members.
    prefixes: Class,
}

/// The homes of one class, and those that its subjects share beyond the bound.
#[derive(Debug)]
struct Class {
    class: SubjectClass,
    crowd: Crowd,
    homes_max: usize,
    seen: AtomicU64,
    is_full: AtomicBool,
}

/// A seat, and the class whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seated {
    pub(super) seat: Seat,
    class: SubjectClass,
}

impl Seats {
    /// For so many homes of each class. `random` is something that no other process has.
    pub(super) fn new(homes: &HomeHasher, random: u64, homes_max: usize) -> Self {
        let class = |class, salt| Class {
            class,
            crowd: Crowd::new(homes.clone(), salt, Crowd::SEATS_LOG2_DEFAULT),
            homes_max,
            seen: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
        };
        Self {
            clients: class(SubjectClass::Client, random),
            asked: class(SubjectClass::Asked, random.wrapping_add(1)),
            prefixes: class(SubjectClass::Overflow, random.wrapping_add(2)),
        }
    }

    /// The home that a subject of this plan shares with others. Which one, its address says, or whatever else it is
    /// known by.
    pub(super) fn shared(&self, home: HomeId, kind: SeatKind, plan: &Plan, now: Timestamp) -> Seated {
        let (class, address) = match kind {
            SeatKind::Caller { address } => (self.of(plan.tariff.class()), address),
            SeatKind::Prefix { address } => (&self.prefixes, address),
        };
        let seat = class.crowd.seat(home, address, plan.number, counts_for(plan), now);
        Seated { seat, class: class.class }
    }

    /// Whether a subject of this class has meters of its own in this process, or may have.
    pub(super) fn has_room_for(&self, class: SubjectClass, home: HomeId, meters: &MeterTable) -> bool {
        self.of(class).has_room_for(home, meters)
    }

    /// Whether a subject that comes with the question has meters of its own, or may have.
    pub(crate) fn has_room_for_asked(&self, home: HomeId, meters: &MeterTable) -> bool {
        self.asked.has_room_for(home, meters)
    }

    /// How many clients may have homes before newcomers share.
    pub(super) const fn clients_max(&self) -> usize {
        self.clients.homes_max
    }

    /// The seat as it is by now, if others have come since.
    pub(super) fn grown(&self, seated: &Seated) -> Option<Seated> {
        let seat = self.of(seated.class).crowd.grown(&seated.seat)?;
        Some(Seated { seat, ..*seated })
    }

    fn of(&self, class: SubjectClass) -> &Class {
        match class {
            SubjectClass::Asked => &self.asked,
            SubjectClass::Overflow => &self.prefixes,
            SubjectClass::Client | SubjectClass::Account => &self.clients,
        }
    }
}

/// For how long anything counts that was used under a plan.
pub(super) fn counts_for(plan: &Plan) -> Nanos {
    plan.tariff.limits().map(|limit| limit.rule.counts_for()).max().unwrap_or(Nanos::ZERO)
}

impl Class {
    fn has_room_for(&self, home: HomeId, meters: &MeterTable) -> bool {
        // A subject that has a home keeps it: only new ones share.
        !self.is_full(home, meters) || meters.has(home)
    }

    fn is_full(&self, home: HomeId, meters: &MeterTable) -> bool {
        if self.class == SubjectClass::Asked {
            return meters.is_full_for(home, self.class, self.homes_max);
        }
        if self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(COUNT_EVERY) {
            self.is_full.store(meters.homes_of(self.class) >= self.homes_max, Ordering::Relaxed);
        }
        self.is_full.load(Ordering::Relaxed)
    }
}
