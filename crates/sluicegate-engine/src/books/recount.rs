//! Quotas counted once more, from the records, into meters that nobody asks.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::book::LimitId;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::{Axis, LimitName, Per};
use sluicegate_core::plan::{ChargePlan, Due, HomeId, Mode};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Kind, Position, Record, Spool};
use sluicegate_store::meters::MeterTable;

use super::error::CompareError;
use crate::look::look_everywhere;
use crate::snapshot::PolicySnapshot;

/// How often it is waited for somebody who is in the middle of an append, each time for up to a second.
const WAITS_MAX: u32 = 10;

/// An account whose quotas are counted.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) id: String,
    pub(super) home: HomeId,
    pub(super) plan: Arc<Plan>,
    /// The keys that it used, by their numbers.
    pub(super) keys: BTreeSet<NonZeroU32>,
}

/// Accounts by their serials.
pub(super) type Accounts = BTreeMap<u64, Counted>;

/// One quota of an account, or of one of its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Quota {
    pub(super) account: u64,
    pub(super) key: Option<NonZeroU32>,
    pub(super) name: LimitName,
    pub(super) id: LimitId,
}

/// What quotas have used.
pub(super) type Used = BTreeMap<Quota, u64>;

/// Quotas counted once more.
pub(super) struct Shadow<'s> {
    policy: &'s PolicySnapshot,
    pub(super) accounts: &'s Accounts,
    meters: MeterTable,
}

impl<'s> Shadow<'s> {
    /// With the limits of `live` under the same numbers.
    pub(super) fn beside(
        live: &MeterTable,
        policy: &'s PolicySnapshot,
        accounts: &'s Accounts,
    ) -> Result<Self, CompareError> {
        Ok(Self { policy, accounts, meters: empty_beside(live)? })
    }

    /// Counts a record, if it is one of theirs.
    pub(super) fn count(&self, record: &Record) {
        let Some(account) = self.accounts.get(&record.account) else { return };
        let Some(cost) = Amount::new(record.cost) else { return };
        let mode = match record.kind {
            Kind::Charge | Kind::Correction => Mode::Force,
            Kind::Refund => Mode::Refund { charged_at: record.charged_at },
        };
        let request = Request {
            home: account.home,
            key: record.tagged_key_number(),
            route: self.policy.route_of_number(record.route),
            cost,
            now: record.at,
            mode,
            which: Charges::Quotas,
            slot: SlotId(0),
        };
        self.meters.settle(&account.plan.tariff.plan(&request), &mut Readings::new());
    }

    /// What one account has used, as bytes.
    pub(super) fn image(&self, home: HomeId, now: Timestamp) -> Vec<u8> {
        let mut image = Vec::new();
        self.meters.image_of(home, now, &mut image, || ());
        image
    }

    /// Puts back what one account has used.
    pub(super) fn restore(&self, home: HomeId, image: &[u8]) -> Result<(), CompareError> {
        if !image.is_empty() {
            self.meters.restore(home, image)?;
        }
        Ok(())
    }

    /// What they have used.
    pub(super) fn used(&self, now: Timestamp) -> Used {
        used(&self.meters, self.accounts, now)
    }
}

/// A table without meters, with the limits of another under the same numbers.
pub(super) fn empty_beside(live: &MeterTable) -> Result<MeterTable, CompareError> {
    let images = live.book_images_from(0);
    Ok(MeterTable::with_book(images.into_iter().map(|(_, image)| image))?)
}

/// What meters say that quotas have used.
pub(super) fn used(meters: &MeterTable, accounts: &Accounts, now: Timestamp) -> Used {
    let mut used = Used::new();
    for (serial, account) in accounts {
        for (key, wanted) in looks(account) {
            let plan = account.plan.tariff.plan(&look(account, key, now));
            let mut readings = Readings::new();
            meters.settle(&plan, &mut readings);
            let amounts = readings.iter().map(|reading| reading.used);
            used.extend(quotas(*serial, key, wanted, &plan, amounts));
        }
    }
    used
}

/// Whose meters of an account have to be looked at: all live keys', all test keys', and each one's own.
pub(super) fn looks(account: &Counted) -> impl Iterator<Item = (Option<NonZeroU32>, fn(Per) -> bool)> + '_ {
    let shared: fn(Per) -> bool = |per| per == Per::Account;
    let own: fn(Per) -> bool = |per| per != Per::Account;
    let has_test_keys = account.keys.iter().any(|key| KeyEnv::of_tagged(*key) == KeyEnv::Test);
    let test = has_test_keys.then_some((Some(KeyEnv::TEST_KEYS), shared));
    let keys = account.keys.iter().filter(|key| KeyEnv::untag(**key).is_some());
    std::iter::once((None, shared)).chain(test).chain(keys.map(move |key| (Some(*key), own)))
}

/// Looks at every meter of an account.
pub(super) fn look(account: &Counted, key: Option<NonZeroU32>, now: Timestamp) -> Request {
    look_everywhere(account.home, key, now)
}

/// The quotas of a plan that was looked at, each with its amount.
pub(super) fn quotas<'p>(
    account: u64,
    key: Option<NonZeroU32>,
    wanted: fn(Per) -> bool,
    plan: &'p ChargePlan<'_>,
    amounts: impl Iterator<Item = u64> + 'p,
) -> impl Iterator<Item = (Quota, u64)> + 'p {
    let limits = plan.charges().iter().filter(|charge| charge.due == Due::Admission);
    limits
        .zip(amounts)
        .filter(move |(charge, _)| {
            is_quota(charge.limit.axis, &charge.limit.rule) && wanted(charge.limit.per)
        })
        .map(move |(charge, amount)| {
            (Quota { account, key, name: charge.limit.name.clone(), id: charge.id }, amount)
        })
}

/// Whether a limit counts what was used: slots are no usage.
pub(super) fn is_quota(axis: Axis, rule: &Rule) -> bool {
    axis == Axis::Quota && !matches!(rule, Rule::Concurrency { .. })
}

/// Reads all records in a part of the spool, and waits for those that are on their way into it.
pub(super) fn read_all(
    spool: &Spool,
    from: Position,
    until: Position,
    mut each: impl FnMut(Position, &Record),
) -> Result<(), CompareError> {
    let mut next = spool.read_until(from, until, &mut each)?.next;
    for _ in 0..WAITS_MAX {
        if next >= until {
            return Ok(());
        }
        // It waits for whoever is in the middle of an append; what is not on disk then is read all the same.
        let _ = spool.flush();
        next = spool.read_until(next, until, &mut each)?.next;
    }
    if next >= until { Ok(()) } else { Err(CompareError::Stalled) }
}
