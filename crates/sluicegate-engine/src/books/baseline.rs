//! What the hourly check has counted: the next one goes on from there.
//!
//! Counting the records of a whole quota window every hour would cost the same however little is new. So the meters
//! that the check has counted itself are kept as images, with the recorded overage and the position up to which they
//! count. The next check reads the records behind that position, and compares the accounts that these are of. Accounts
//! that did not agree are compared again until they do.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Position, Spool};

use super::error::CompareError;
use super::given_back::GivenBackOf;
use super::quota::Counting;
use super::recount::{Accounts, PeriodOverage, Shadow};
use crate::snapshot::PolicySnapshot;

/// The keys that accounts have used, by the accounts' serials.
pub(super) type KeysSeen = BTreeMap<u64, BTreeSet<NonZeroU32>>;

/// What was counted up to a position.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    policy: Arc<PolicySnapshot>,
    /// All records before it are counted.
    pub(super) position: Position,
    accounts: BTreeMap<u64, KnownAccount>,
    /// The accounts that did not agree.
    drifting: BTreeSet<u64>,
}

/// What one check has counted.
#[derive(Debug)]
pub(super) struct Progress {
    policy: Arc<PolicySnapshot>,
    /// Where it went on; nothing if it counted everything.
    since: Option<Position>,
    position: Position,
    /// The accounts that it compared.
    accounts: BTreeMap<u64, KnownAccount>,
}

/// An account as it was counted.
#[derive(Clone, Debug)]
struct KnownAccount {
    keys: BTreeSet<NonZeroU32>,
    /// Its records before this position are counted: its meters may have been looked at later than others.
    until: Position,
    /// Nothing if it had no quotas.
    counted: Option<CountedAccount>,
}

/// What was counted of an account.
#[derive(Clone, Debug)]
struct CountedAccount {
    plan: Arc<Plan>,
    /// Its meters.
    image: Vec<u8>,
    /// Nothing where none is billed.
    overage: Option<PeriodOverage>,
    given_back: GivenBackOf,
}

impl Progress {
    /// Of everything that `shadow` has counted: all records before `position`, and of each account those before
    /// `until`.
    pub(super) fn of(
        shadow: &Shadow<'_>,
        counting: &Counting,
        position: Position,
        until: impl Fn(u64) -> Position,
        now: Timestamp,
    ) -> Self {
        let Counting { policy, seen, base, .. } = counting;
        let known = |(serial, keys): (&u64, &BTreeSet<NonZeroU32>)| {
            let account = shadow.accounts.get(serial);
            let counted = account.map(|account| CountedAccount {
                plan: Arc::clone(&account.plan),
                image: shadow.image(account.home, now),
                overage: shadow.overage_of(*serial),
                given_back: shadow.given_back.borrow().of_account(*serial, &account.plan.tariff, now),
            });
            (*serial, KnownAccount { keys: keys.clone(), until: until(*serial), counted })
        };
        let since = base.as_ref().map(|base| base.position);
        Self { policy: Arc::clone(policy), since, position, accounts: seen.iter().map(known).collect() }
    }
}

impl Baseline {
    /// Adds what a check has counted. A check that went on from another position than this is at is left out: another
    /// one was faster.
    pub(super) fn advance(base: &mut Option<Arc<Self>>, progress: Progress, drifting: BTreeSet<u64>) {
        let Progress { policy, since, position, accounts } = progress;
        match (base, since) {
            (base, None) => *base = Some(Arc::new(Self { policy, position, accounts, drifting })),
            (Some(base), Some(since)) if base.position == since && Arc::ptr_eq(&base.policy, &policy) => {
                let base = Arc::make_mut(base);
                base.position = position;
                base.accounts.extend(accounts);
                base.drifting = drifting;
            }
            _ => {}
        }
    }

    /// Whether it can be gone on from: the policy is the same, and no record behind it is gone.
    pub(super) fn fits(&self, policy: &Arc<PolicySnapshot>, spool: &Spool) -> bool {
        Arc::ptr_eq(&self.policy, policy) && self.position >= spool.first() && self.position <= spool.tail()
    }

    /// Whether a record of an account is not counted yet.
    pub(super) fn is_new(&self, account: u64, position: Position) -> bool {
        let known = self.accounts.get(&account);
        position >= known.map_or(self.position, |known| known.until.max(self.position))
    }

    /// The keys that an account has used so far.
    pub(super) fn keys_of(&self, serial: u64) -> BTreeSet<NonZeroU32> {
        self.accounts.get(&serial).map(|known| known.keys.clone()).unwrap_or_default()
    }

    /// The accounts that did not agree, with the keys that they have used.
    pub(super) fn drifting(&self) -> KeysSeen {
        self.drifting.iter().map(|serial| (*serial, self.keys_of(*serial))).collect()
    }

    /// The accounts whose plan is another than it was. What they have used under it is not known from the records that
    /// are new; they are compared again from now on.
    pub(super) fn changed(&self, accounts: &Accounts) -> BTreeSet<u64> {
        let is_changed = |serial: &&u64| {
            let Some(known) = self.accounts.get(serial) else { return false };
            let now = accounts.get(serial).map(|account| &account.plan);
            match (&known.counted, now) {
                (Some(counted), Some(now)) => !has_same_limits(&counted.plan, now),
                _ => true,
            }
        };
        accounts.keys().filter(is_changed).copied().collect()
    }

    /// Puts what was counted into an empty shadow.
    pub(super) fn restore(&self, shadow: &Shadow<'_>, changed: &BTreeSet<u64>) -> Result<(), CompareError> {
        for (serial, account) in shadow.accounts.iter().filter(|(serial, _)| !changed.contains(serial)) {
            if let Some(counted) = self.accounts.get(serial).and_then(|known| known.counted.as_ref()) {
                shadow.restore(account.home, &counted.image)?;
                shadow.given_back.borrow_mut().restore(&counted.given_back);
                if let Some(overage) = &counted.overage {
                    shadow.restore_overage(*serial, overage);
                }
            }
        }
        changed.iter().for_each(|serial| shadow.leave_unclear(*serial));
        Ok(())
    }
}

/// A plan may be made again without a change: by an account that was evicted and read once more.
fn has_same_limits(one: &Arc<Plan>, other: &Arc<Plan>) -> bool {
    Arc::ptr_eq(one, other) || one.tariff.limits().eq(other.tariff.limits())
}
