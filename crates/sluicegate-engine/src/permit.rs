//! Permits: what has to be remembered of an admitted request until it has ended.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroU32;
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::RouteIndex;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, LEASE_DEFAULT};
use sluicegate_core::tariff::{Charges, Plan};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Idempotency};

use crate::idempotency::{AttemptEnd, ReplayRule};
use crate::ids::{self, DecisionId};

/// The handle of a permit that a front end far away holds: the decision it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PermitId(DecisionId);

const PREFIX: &str = "permit_";

impl PermitId {
    /// The permit of a decision.
    pub fn of(decision: DecisionId) -> Self {
        Self(decision)
    }

    /// Reads a permit as it was written.
    pub fn parse(text: &str) -> Option<Self> {
        ids::value(text.strip_prefix(PREFIX)?).map(|id| Self(DecisionId(id)))
    }
}

impl std::fmt::Display for PermitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(PREFIX)?;
        ids::digits(self.0.0).iter().try_for_each(|digit| std::fmt::Write::write_char(f, char::from(*digit)))
    }
}

/// What was charged for an admitted request, and to whom.
#[derive(Clone, Debug)]
pub struct Permit {
    pub(crate) decision: DecisionId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) home: HomeId,
    pub(crate) account: u64,
    pub(crate) key: u64,
    /// The number of the key, tagged with its environment.
    pub(crate) key_number: Option<NonZeroU32>,
    pub(crate) route: Option<RouteIndex>,
    pub(crate) route_number: u32,
    /// What it costs; nothing: it is free. See [`Permit::usage`].
    pub(crate) cost: Option<Amount>,
    pub(crate) settles: Settles,
    pub(crate) charged_at: Timestamp,
    pub(crate) slot: SlotId,
    /// Its caller's name for it, which every attempt to serve it has.
    pub(crate) name: Option<PermitName>,
    pub(crate) kept: Kept,
    /// What records of it say beside the numbers.
    pub(crate) flags: Flags,
}

/// The name of a request, and when another attempt under it is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PermitName {
    pub(crate) idempotency: Idempotency,
    pub(crate) rule: ReplayRule,
}

/// Where the meters are that were charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// In the store.
    Store,
    /// In this process, because the store was away.
    Here,
}

/// What the end of a request settles, besides its place in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settles {
    /// What it cost in the end.
    TrueCost,
    /// Nothing: it repeats a request whose own end settles the cost.
    Nothing,
}

impl Permit {
    /// What a request with this permit takes. One that is free takes a place in flight and nothing else.
    pub(crate) fn charges(&self) -> Charges {
        match (self.cost, self.settles) {
            (None, _) => Charges::Slots,
            (Some(_), Settles::TrueCost) => Charges::All,
            (Some(_), Settles::Nothing) => Charges::Again,
        }
    }

    /// What of it is usage, which is recorded: nothing of a repeat.
    pub(crate) fn usage(&self) -> Option<Amount> {
        self.cost.filter(|_| self.settles == Settles::TrueCost)
    }

    /// It turned out to be that of a free repeat of an earlier request.
    pub(crate) fn replay(&mut self, first: DecisionId) {
        self.decision = first;
        self.settles = Settles::Nothing;
    }

    /// Whether it is a free repeat of an earlier request.
    pub(crate) fn is_replay(&self) -> bool {
        self.settles == Settles::Nothing
    }

    /// What the end of the request means for its name. Nothing where that does not matter.
    pub(crate) fn attempt_end(&self, failed: bool, settled: u64) -> Option<(PermitName, AttemptEnd)> {
        let name = self.name?;
        let end = if !self.is_replay() && settled == 0 {
            AttemptEnd::Refunded
        } else if failed {
            AttemptEnd::Failed
        } else {
            AttemptEnd::Delivered
        };
        (end == AttemptEnd::Refunded || name.rule == ReplayRule::AfterFailure).then_some((name, end))
    }

    /// Its handle.
    pub fn id(&self) -> PermitId {
        PermitId::of(self.decision)
    }
}

/// The permits that front ends far away hold, each until it is finished or a slot's lease has passed.
///
/// Ids begin with the time, so the oldest permit is the first of the map.
#[derive(Debug, Default)]
pub(crate) struct Permits(Mutex<BTreeMap<PermitId, Box<Permit>>>);

/// How many permits may be open at once. Beyond it the oldest ends early: its slot frees itself with its lease.
const OPEN_MAX: usize = 1_000_000;

/// How many that have ended by themselves are dropped with each new one: more than one, so that none pile up.
const DROPPED_AT_ONCE: usize = 4;

impl Permits {
    /// Takes a permit. It comes back if one of the same id is open: it belongs to a repeat of the same request.
    #[must_use]
    pub(crate) fn insert(&self, permit: Box<Permit>, now: Timestamp) -> Option<Box<Permit>> {
        let mut open = self.0.lock();
        for _ in 0..DROPPED_AT_ONCE {
            let full = open.len() >= OPEN_MAX;
            match open.first_entry() {
                Some(oldest) if full || has_ended(oldest.get(), now) => drop(oldest.remove()),
                _ => break,
            }
        }
        match open.entry(permit.id()) {
            // Whichever of the two settles the cost stays.
            Entry::Occupied(mut first) if !has_ended(first.get(), now) => {
                let is_repeat = permit.settles == Settles::Nothing;
                return Some(if is_repeat { permit } else { first.insert(permit) });
            }
            Entry::Occupied(mut ended) => drop(ended.insert(permit)),
            Entry::Vacant(free) => drop(free.insert(permit)),
        }
        None
    }

    /// The permit, which is no longer open then.
    pub(crate) fn take(&self, id: PermitId, now: Timestamp) -> Option<Box<Permit>> {
        self.0.lock().remove(&id).filter(|permit| !has_ended(permit, now))
    }
}

/// A permit lives as long as the slots it holds, and a minute at least.
fn has_ended(permit: &Permit, now: Timestamp) -> bool {
    let lease = permit.plan.tariff.leases().max().unwrap_or(LEASE_DEFAULT);
    now.since(permit.charged_at) >= lease.max(LEASE_DEFAULT)
}
