//! One record of the ledger: what was charged, to whom, when.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::BitOr;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::tariff::LimitPlaces;
use sluicegate_core::time::{Nanos, Timestamp};

use crate::spool::Position;

mod billed;
pub(crate) mod layout;

pub use billed::BilledPrint;

/// How much room a record takes on disk.
pub const RECORD_BYTES: usize = layout::SLOT_BYTES;

/// What a record does to the sums.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A request was admitted and its cost charged.
    Charge,
    /// What was charged was given back.
    Refund,
    /// Later it turned out to be more or less than was charged at first.
    Correction,
}

/// What amounts of a record count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Unit {
    /// Requests, each worth what its route or its caller says.
    #[default]
    Requests,
}

impl Unit {
    /// The word for it in exports and replies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
        }
    }

    /// The unit of this name.
    pub fn parse(name: &str) -> Option<Self> {
        (name == Self::Requests.as_str()).then_some(Self::Requests)
    }

    /// The number that stands for it in files.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Requests => 1,
        }
    }

    /// The unit of this number.
    pub(crate) const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Requests),
            _ => None,
        }
    }
}

/// The hashes that tell a retried request from a new one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Idempotency {
    /// Of the idempotency key.
    pub key: u64,
    /// Of the request it came with.
    pub request: u64,
}

/// A set of remarks on a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No remarks.
    pub const NONE: Self = Self(0);
    /// It was recorded later than it was decided.
    pub const LATE: Self = Self(1);
    /// It was decided while a part of the system was missing.
    pub const DEGRADED: Self = Self(1 << 1);
    /// The shared store has to be told of it, and was not when it was written.
    pub const OWED: Self = Self(1 << 2);
    /// The shared store has to be told of its name, and was not when it was written.
    pub const UNNAMED: Self = Self(1 << 3);
    /// A refund because the request failed: it returns what was sold, and nothing to limits that protect the service.
    pub const FAILED: Self = Self(1 << 4);
    /// The meters are an overflow bucket, which callers share that do not know each other: nothing is returned to it.
    pub const OVERFLOW: Self = Self(1 << 5);
    /// It says by how much the overage changed when the shared store was told of an earlier record: see
    /// [`Record::settles`].
    pub const SETTLES: Self = Self(1 << 6);

    /// A service holds a slot for the request under a permit, of a charge or of the record that says until when: see
    /// [`Record::held_for`].
    pub const HELD: Self = Self(1 << 7);
    /// The permit of the decision is finished with this record, which may settle nothing: see [`Record::finished`].
    pub const FINISHED: Self = Self(1 << 8);
    /// This node is about to claim a permit in the shared store, to settle the difference that this says: see
    /// [`Record::claims`]. Nothing was used or given back with it.
    pub const CLAIMS: Self = Self(1 << 9);
    /// The call of the shared store that asked for this was cut off, and nobody knows yet what it did: see
    /// [`Record::lost_call`]. Nothing was used or given back with it.
    pub const DOUBT: Self = Self(1 << 10);
    /// The meters are those of an address prefix under pressure, which is the subject of its callers: its limits are
    /// `share` clients' worth at the squeezed size.
    pub const PREFIX: Self = Self(1 << 11);
    /// Its key had limits of its own when it was charged.
    pub const KEY_LIMITS: Self = Self(1 << 13);
    /// It gives back what was charged to others, without a permit: a caller of the decision port asked for it.
    pub const GIVEN_BACK: Self = Self(1 << 12);

    /// The set as a number in files.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// From a number in files.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Those of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The names of the flags: `LATE|DEGRADED`.
impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = [
            (Self::LATE, "LATE"),
            (Self::DEGRADED, "DEGRADED"),
            (Self::OWED, "OWED"),
            (Self::UNNAMED, "UNNAMED"),
            (Self::FAILED, "FAILED"),
            (Self::OVERFLOW, "OVERFLOW"),
            (Self::SETTLES, "SETTLES"),
            (Self::HELD, "HELD"),
            (Self::FINISHED, "FINISHED"),
            (Self::CLAIMS, "CLAIMS"),
            (Self::DOUBT, "DOUBT"),
            (Self::PREFIX, "PREFIX"),
        ];
        let mut rest = self.0;
        let mut separator = "";
        for (flag, name) in known.into_iter().filter(|(flag, _)| self.contains(*flag)) {
            write!(f, "{separator}{name}")?;
            (rest, separator) = (rest & !flag.0, "|");
        }
        match (rest, separator) {
            (0, "") => f.write_str("NONE"),
            (0, _) => Ok(()),
            _ => write!(f, "{separator}{rest:#x}"),
        }
    }
}

/// How what a request cost in the end is settled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Settlement {
    /// What was charged at first; 0: it was not noted. Of what is [held](Record::held_for), for how long.
    pub reserved: u64,
    /// The limits that it does not concern.
    pub skipped: LimitPlaces,
}

/// A call of the shared store that was cut off, as far as one request is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LostCall {
    /// The number of the call.
    pub seq: u64,
    /// The place of the request among those that it asked for.
    pub place: u16,
    /// What it asked to be charged.
    pub cost: u64,
    /// The name of the request, if it has one.
    pub name: Option<Idempotency>,
}

/// What was charged, to whom, when.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// What it does to the sums.
    pub kind: Kind,
    /// When it was decided.
    pub at: Timestamp,
    /// When the original was charged; for a charge the same as `at`. Of a [lost call](Record::lost_call), its number.
    pub charged_at: Timestamp,
    /// The id of the decision.
    pub decision: u128,
    /// Whose meters were charged.
    pub home: HomeId,
    /// The serial of the account in the directory; 0: a client without a key.
    pub account: u64,
    /// The serial of the key; 0: none.
    pub key: u64,
    /// The number of the key among its account's; 0: none.
    pub key_number: u32,
    /// The number of the route's name; 0: none.
    pub route: u32,
    /// The number of the tier's name; 0: none.
    pub tier: u32,
    /// What the key is for; a caller without one counts as live.
    pub env: KeyEnv,
    /// What `cost` and `overage` count.
    pub unit: Unit,
    /// What was charged, given back, or corrected to.
    pub cost: u64,
    /// How much of it went beyond the quota.
    pub overage: u64,
    /// What the request was sent with so that a retry can be told; of a record that [settles](Record::settles) another,
    /// the position of that.
    pub idempotency: Option<Idempotency>,
    /// Remarks.
    pub flags: Flags,
    /// Of a refund or a correction.
    pub settlement: Settlement,
    /// Under which billed quota it was settled.
    pub billed: BilledPrint,
}

impl Record {
    /// The record that has this as its overage, or as a correction of it: the shared store was told of that one, and
    /// this much its overage changed then. Nothing was used or given back with it.
    pub fn settling(self, position: Position, kind: Kind, overage: u64, at: Timestamp) -> Self {
        let idempotency = Some(Idempotency { key: position.0, request: 0 });
        let flags = Flags(self.flags.0 & Flags::DEGRADED.0) | Flags::SETTLES;
        Self { kind, at, cost: 0, overage, idempotency, flags, ..self }
    }

    /// The position of the record whose overage this says, if it does.
    pub fn settles(&self) -> Option<Position> {
        let position = self.idempotency.filter(|_| self.flags.contains(Flags::SETTLES));
        position.map(|position| Position(position.key))
    }

    /// The name that the request was sent with.
    pub fn name(&self) -> Option<Idempotency> {
        let others = [Flags::SETTLES, Flags::CLAIMS, Flags::DOUBT];
        let is_other = others.into_iter().any(|other| self.flags.contains(other));
        self.idempotency.filter(|_| !is_other)
    }

    /// That a service holds a slot for this request under a permit, from the instant of the record on for so long.
    #[must_use]
    pub fn holding(self, hold: Nanos) -> Self {
        let settlement = Settlement { reserved: hold.0, ..self.settlement };
        Self { flags: self.flags | Flags::HELD, settlement, ..self }
    }

    /// For how long a service holds a slot for it, if one does.
    pub fn held_for(&self) -> Option<Nanos> {
        self.flags.contains(Flags::HELD).then_some(Nanos(self.settlement.reserved))
    }

    /// What a permit was finished with, if it was with this record: what was charged at first, and what it is now.
    pub fn finished(&self) -> Option<(u64, u64)> {
        let reserved = self.settlement.reserved;
        let settled = match self.kind {
            Kind::Refund => reserved.saturating_sub(self.cost),
            Kind::Charge | Kind::Correction => reserved.saturating_add(self.cost),
        };
        self.flags.contains(Flags::FINISHED).then_some((reserved, settled))
    }

    /// The same where this node alone knows it. What was claimed in a shared store is known there.
    pub fn finished_locally(&self) -> Option<(u64, u64)> {
        let is_shared = self.flags.contains(Flags::OWED) && !self.flags.contains(Flags::DEGRADED);
        self.finished().filter(|_| !is_shared)
    }

    /// That this node is about to claim the permit that this finishes.
    #[must_use]
    pub fn claiming(self) -> Self {
        // Zero stands for no request in names.
        let amount = Idempotency { key: self.cost, request: 0 };
        let is_all = self.kind == Kind::Refund && self.cost == self.settlement.reserved;
        let idempotency = if is_all { self.idempotency } else { Some(amount) };
        let flags = self.flags.without(Flags::OWED | Flags::FINISHED) | Flags::CLAIMS;
        Self { cost: 0, overage: 0, idempotency, flags, ..self }
    }

    /// That the call of the shared store that was to charge this was cut off.
    #[must_use]
    pub fn in_doubt(self, seq: u64, place: u16) -> Self {
        let settlement = Settlement { reserved: self.cost, skipped: LimitPlaces::from_bits(place) };
        let (kind, flags) = (Kind::Correction, Flags::DOUBT);
        let charged_at = Timestamp::from_nanos(seq);
        Self { kind, charged_at, cost: 0, overage: 0, settlement, flags, ..self }
    }

    /// The call that was cut off, if this says so.
    pub fn lost_call(&self) -> Option<LostCall> {
        let Settlement { reserved: cost, skipped } = self.settlement;
        let seq = self.charged_at.as_nanos();
        let lost = LostCall { seq, place: skipped.to_bits(), cost, name: self.idempotency };
        self.flags.contains(Flags::DOUBT).then_some(lost)
    }

    /// What is recorded if the claim that this announces succeeds.
    pub fn claims(&self) -> Option<Self> {
        let flags = self.flags.without(Flags::CLAIMS) | Flags::OWED | Flags::FINISHED;
        let (cost, idempotency) = match self.idempotency {
            Some(Idempotency { key, request: 0 }) => (key, None),
            name => (self.settlement.reserved, name),
        };
        self.flags.contains(Flags::CLAIMS).then_some(Self { cost, idempotency, flags, ..*self })
    }
}

impl Record {
    /// When the charge was made that this is about: in its period this counts.
    pub const fn first_charged_at(&self) -> Timestamp {
        match self.kind {
            Kind::Charge => self.at,
            Kind::Refund | Kind::Correction => self.charged_at,
        }
    }

    /// The number of the key together with its environment, as limits want it; nothing: there is no key.
    pub fn tagged_key_number(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.key_number).map(|number| self.env.tag(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_call_says_what_it_asked_for_and_nothing_else() {
        let name = Some(Idempotency { key: 8, request: 9 });
        let charge = Record { idempotency: name, cost: 5, ..empty() };
        let lost = charge.in_doubt(1 << 52, 255);
        let call = LostCall { seq: 1 << 52, place: 255, cost: 5, name };
        assert_eq!((lost.lost_call(), charge.lost_call()), (Some(call), None));
        assert_eq!((lost.cost, lost.overage, lost.name(), lost.held_for()), (0, 0, None, None));
        assert_eq!((lost.finished(), lost.settles(), lost.claims()), (None, None, None));
    }

    fn empty() -> Record {
        Record {
            kind: Kind::Charge,
            at: Timestamp::from_secs(20),
            charged_at: Timestamp::from_secs(20),
            decision: 1,
            home: HomeId(2),
            account: 3,
            key: 4,
            key_number: 5,
            route: 6,
            tier: 7,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: 1,
            overage: 0,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: BilledPrint::UNKNOWN,
        }
    }

    #[test]
    fn what_claims_a_permit_says_what_it_settles_and_nothing_else() {
        let finish = |kind, cost, idempotency| Record {
            kind,
            at: Timestamp::from_secs(20),
            charged_at: Timestamp::from_secs(10),
            decision: 1,
            home: HomeId(2),
            account: 3,
            key: 4,
            key_number: 5,
            route: 6,
            tier: 7,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost,
            overage: 0,
            idempotency,
            flags: Flags::FINISHED | Flags::OWED,
            settlement: Settlement { reserved: 5, skipped: LimitPlaces::from_bits(9) },
            billed: BilledPrint::NOTHING,
        };
        let name = Some(Idempotency { key: 8, request: 9 });
        for (record, settled) in [
            (finish(Kind::Refund, 5, name), 0),
            (finish(Kind::Refund, 5, None), 0),
            (finish(Kind::Refund, 2, None), 3),
            (finish(Kind::Correction, 5, None), 10),
        ] {
            let claim = record.claiming();
            assert_eq!((claim.cost, claim.overage, claim.name()), (0, 0, None));
            assert_eq!(claim.claims(), Some(record));
            assert_eq!((record.finished(), record.claims()), (Some((5, settled)), None));
        }
    }
}
