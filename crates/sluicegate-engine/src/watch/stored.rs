//! Which subjects that come with the question have meters of their own in a store that nodes share.
//!
//! The store cannot count them for each node, so a node notes those that it lets in: each has a home of its own in the
//! table of this process, which lives for as long as what the subject uses counts in the store. So these homes are
//! bounded as those of a node without a store are, and are swept with them.

use std::sync::OnceLock;

use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket};
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_store::meters::MeterTable;

/// Lifetimes are rounded up to a power of two of seconds, so that they make few limits. The longest is 388 days.
const LIFETIMES: usize = 26;

/// What tells the home of a note from the home that the same subject has while the store is unreachable.
const NOTE: u128 = 1 << 127;

/// The limits of notes, by the logarithm of their lifetime in seconds.
#[derive(Debug, Default)]
pub(crate) struct StoredSubjects([OnceLock<Option<Plan>>; LIFETIMES]);

impl StoredSubjects {
    /// The home of the note of a subject.
    pub(super) const fn note_of(subject: HomeId) -> HomeId {
        HomeId(subject.0 ^ NOTE)
    }

    /// Notes that a subject uses its meter in the store now, and that this counts for so long.
    pub(super) fn note(&self, subject: HomeId, counts_for: Nanos, meters: &MeterTable, now: Timestamp) {
        let log2 =
            counts_for.as_secs_ceil().max(1).checked_next_power_of_two().map_or(63, u64::trailing_zeros);
        let plan = &self.0[(log2 as usize).min(LIFETIMES - 1)];
        let Some(plan) = plan.get_or_init(|| lifetime(1 << log2.min(25), meters)) else { return };
        let (home, cost, mode, which) = (Self::note_of(subject), Amount::ONE, Mode::Charge, Charges::All);
        let request = Request { home, key: None, route: None, cost, now, mode, which, slot: SlotId(0) };
        // Refused where the note lives for longer than that already.
        meters.settle(&plan.tariff.plan(&request), &mut Readings::new());
    }
}

/// A bucket that takes so long to give a unit, and has two: charged whenever it may be, it is never full before that.
fn lifetime(secs: u64, meters: &MeterTable) -> Option<Plan> {
    let limit = Limit {
        name: LimitName::new("stored")?,
        axis: Axis::Rate,
        per: Per::Account,
        rule: Rule::TokenBucket(TokenBucket::new(1, Window::from_secs(secs)?, 2).ok()?),
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
        sold: None,
    };
    Some(Plan::of_limit(limit, |limit| meters.enter(limit)))
}
