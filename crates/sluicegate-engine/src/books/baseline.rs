//! What the last hourly check has counted: the next one goes on from there, and reads new records only.
//!
//! Counting the records of a whole quota window every hour would cost the same however little is new. So the meters that
//! the check has counted itself are kept as images, with the recorded overage and the position up to which they count.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Position, Spool};

use super::error::CompareError;
use super::recount::{Accounts, PeriodOverage, Shadow};
use crate::snapshot::PolicySnapshot;

/// The keys that accounts have used, by the accounts' serials.
pub(super) type KeysSeen = BTreeMap<u64, BTreeSet<NonZeroU32>>;

/// What was counted up to a position.
#[derive(Debug)]
pub(super) struct Baseline {
    policy: Arc<PolicySnapshot>,
    /// All records before it are counted.
    pub(super) position: Position,
    accounts: BTreeMap<u64, Known>,
}

/// An account as it was counted.
#[derive(Debug)]
struct Known {
    keys: BTreeSet<NonZeroU32>,
    /// Nothing if it had no quotas.
    counted: Option<CountedAccount>,
}

/// What was counted of an account.
#[derive(Debug)]
struct CountedAccount {
    plan: Arc<Plan>,
    /// Its meters.
    image: Vec<u8>,
    /// Nothing where none is billed.
    overage: Option<PeriodOverage>,
}

impl Baseline {
    /// Of everything that `shadow` has counted, at the position up to which it has.
    pub(super) fn of(
        shadow: &Shadow<'_>,
        policy: &Arc<PolicySnapshot>,
        seen: &KeysSeen,
        position: Position,
        now: Timestamp,
    ) -> Self {
        let known = |(serial, keys): (&u64, &BTreeSet<NonZeroU32>)| {
            let account = shadow.accounts.get(serial);
            let counted = account.map(|account| CountedAccount {
                plan: Arc::clone(&account.plan),
                image: shadow.image(account.home, now),
                overage: shadow.overage_of(*serial),
            });
            (*serial, Known { keys: keys.clone(), counted })
        };
        Self { policy: Arc::clone(policy), position, accounts: seen.iter().map(known).collect() }
    }

    /// Whether it can be gone on from: the policy is the same, and no record behind it is gone.
    pub(super) fn fits(&self, policy: &Arc<PolicySnapshot>, spool: &Spool) -> bool {
        Arc::ptr_eq(&self.policy, policy) && self.position >= spool.first() && self.position <= spool.tail()
    }

    /// The keys that accounts have used so far.
    pub(super) fn keys(&self) -> KeysSeen {
        self.accounts.iter().map(|(serial, known)| (*serial, known.keys.clone())).collect()
    }

    /// The accounts whose plan is another than it was. What they have used under it is not known from the records that
    /// are new; they are compared again from now on.
    pub(super) fn changed(&self, accounts: &Accounts) -> BTreeSet<u64> {
        let is_changed = |serial: &&u64| {
            let Some(known) = self.accounts.get(serial) else { return false };
            let now = accounts.get(serial).map(|account| &account.plan);
            match (&known.counted, now) {
                (Some(counted), Some(now)) => !Arc::ptr_eq(&counted.plan, now),
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
                if let Some(overage) = &counted.overage {
                    shadow.restore_overage(*serial, overage);
                }
            }
        }
        Ok(())
    }
}
