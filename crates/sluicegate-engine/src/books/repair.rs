//! Setting meters right: the ledger is the truth, and what a quota has used is what its records say. Overage is a
//! function of that: where the recorded overage is not what the rule says, the difference is recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::Per;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Record, Settlement, Unit};

use super::Books;
use super::billed::Pool;
use super::error::CompareError;
use super::quota::{Counts, Others, QuotaCount, blocking};
use super::recount::{Accounts, Counted, Measure, look};
use crate::record::billed_print;

/// What was set right.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repaired {
    /// Every quota as it was compared.
    pub compared: Vec<QuotaCount>,
    /// How many of them were set right.
    pub repaired: u64,
}

impl Books {
    /// Compares every quota, and sets those right that do not say what the records say: what is missing is charged at
    /// this moment, what is too much is given back. Nothing is recorded, for nothing was used. Overage becomes what was
    /// recorded.
    ///
    /// Where several nodes share the meters, `others` must be what all the others recorded.
    pub async fn repair(
        self: &Arc<Self>,
        only: Option<u64>,
        others: &Others,
    ) -> Result<Repaired, CompareError> {
        let (Counts { accounts, counts, .. }, _) = self.count_quotas(only, others, None).await?;
        self.set_used(&accounts, &counts).await?;
        self.set_overage(&accounts, &counts, &BTreeMap::new()).await?;
        let is_set = |count: &&QuotaCount| count.measure != Measure::Billed && count.drift() != 0;
        let repaired = counts.iter().filter(is_set).count() as u64;
        self.save_repaired(repaired).await?;
        Ok(Repaired { compared: counts, repaired })
    }

    /// As [`Books::repair`], and then records by how much the recorded overage differs from the rule.
    pub async fn repair_and_bill(
        self: &Arc<Self>,
        only: Option<u64>,
        others: &Others,
    ) -> Result<Repaired, CompareError> {
        self.expect_same_time().await?;
        let (Counts { accounts, counts: mut compared, .. }, _) =
            self.count_quotas(only, others, None).await?;
        self.set_used(&accounts, &compared).await?;
        // Only where meters agree with the records it can be told what the rule says.
        let (Counts { accounts, counts, pools, .. }, _) = self.count_quotas(only, others, None).await?;
        compared.retain(|count| count.measure != Measure::Billed);
        let mut ruled = BTreeMap::new();
        for count in counts.iter().filter(|count| count.measure == Measure::Billed) {
            let Some(account) = accounts.get(&count.quota.account) else { continue };
            let pool = (count.quota.account, count.quota.key);
            let like = pools.get(&pool).map(|pool| pool.like);
            let Some(record) = self.difference(count, account, like) else { continue };
            let room = self.engine.spool().reserve().map_err(|_| CompareError::Full)?;
            let at = room.append(&record);
            self.engine.spool().wait_durable(at).await.map_err(|_| CompareError::Full)?;
            ruled.insert(pool, count.meter.most);
            compared.push(count.clone());
        }
        self.set_overage(&accounts, &counts, &ruled).await?;
        let repaired = compared.iter().filter(|count| count.drift() != 0).count() as u64;
        self.save_repaired(repaired).await?;
        Ok(Repaired { compared, repaired })
    }

    /// Charges what meters lack, and gives back what they have too much.
    async fn set_used(&self, accounts: &Accounts, counts: &[QuotaCount]) -> Result<(), CompareError> {
        for count in counts.iter().filter(|count| count.measure == Measure::Used) {
            let drift = count.drift();
            let amount = Amount::new(u64::try_from(drift.unsigned_abs()).unwrap_or(u64::MAX));
            let (Some(amount), Some(account)) = (amount, accounts.get(&count.quota.account)) else {
                continue;
            };
            let now = self.engine.now();
            let mode = if drift > 0 {
                Mode::Force
            } else {
                let rule = account.plan.tariff.limits().find(|limit| limit.name == count.limit);
                let charged_at = rule.map_or(now, |limit| limit.rule.oldest_at(now));
                Mode::Refund { charged_at, reserved: amount }
            };
            let which = Charges::One(count.quota.id);
            let request = Request { cost: amount, mode, which, ..look(account, count.quota.key, now) };
            match &self.engine.shared {
                Some(shared) => drop(shared.look(&account.plan, request, None).await?),
                None => {
                    let plan = account.plan.tariff.plan(&request);
                    self.engine.meters.settle(&plan, &mut Readings::new());
                    self.engine.watch.touched.add(account.home);
                }
            }
        }
        Ok(())
    }

    /// Has meters say the overage that was recorded, or what the rule says where that was recorded just now. After what
    /// was used is right, for that changes it.
    async fn set_overage(
        &self,
        accounts: &Accounts,
        counts: &[QuotaCount],
        ruled: &BTreeMap<Pool, u64>,
    ) -> Result<(), CompareError> {
        for count in counts.iter().filter(|count| count.measure == Measure::Overage) {
            let Some(account) = accounts.get(&count.quota.account) else { continue };
            let which = Charges::One(count.quota.id);
            let request = Request { which, ..look(account, count.quota.key, self.engine.now()) };
            let recorded = u64::try_from(count.records).unwrap_or(0);
            let overage = ruled.get(&(count.quota.account, count.quota.key)).copied().unwrap_or(recorded);
            let plan = account.plan.tariff.plan(&request);
            match &self.engine.shared {
                Some(shared) => {
                    let says = shared.look(&account.plan, request, None).await?;
                    if says.iter().any(|limit| limit.overage != overage) {
                        shared.journal.set_overage(&plan, overage).await?;
                    }
                }
                None => {
                    self.engine.meters.set_overage(&plan, overage);
                    self.engine.watch.touched.add(account.home);
                }
            }
        }
        Ok(())
    }

    /// The record by which the overage of a pool becomes what the rule says. Nothing of a key that this node does not
    /// know.
    fn difference(&self, count: &QuotaCount, account: &Counted, like: Option<Record>) -> Option<Record> {
        let (drift, now) = (count.drift(), self.engine.now());
        let overage = u64::try_from(drift.unsigned_abs()).ok().filter(|overage| *overage > 0)?;
        let mut limits = account.plan.tariff.limits();
        let is_of_account = limits.any(|limit| limit.name == count.limit && limit.per == Per::Account);
        let like = match like {
            Some(like) => like,
            None if is_of_account => unattributed(count.quota.account, account, now),
            None => return None,
        };
        Some(Record {
            kind: if drift > 0 { Kind::Refund } else { Kind::Correction },
            at: now,
            charged_at: now,
            cost: 0,
            overage,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: billed_print(&account.plan),
            ..like
        })
    }

    async fn save_repaired(&self, repaired: u64) -> Result<(), CompareError> {
        if repaired > 0 && self.engine.shared.is_none() {
            // No record says it, so only a checkpoint keeps it.
            let engine = Arc::clone(&self.engine);
            blocking(move || engine.save(engine.now()).map(drop).map_err(CompareError::Save)).await?;
        }
        Ok(())
    }
}

/// A record of an account, of none of its keys and routes.
fn unattributed(serial: u64, account: &Counted, now: Timestamp) -> Record {
    Record {
        kind: Kind::Correction,
        at: now,
        charged_at: now,
        decision: 0,
        home: account.home,
        account: serial,
        key: 0,
        key_number: 0,
        route: 0,
        tier: account.plan.number,
        env: KeyEnv::Live,
        unit: Unit::Requests,
        cost: 0,
        overage: 0,
        idempotency: None,
        flags: Flags::NONE,
        settlement: Settlement::default(),
        billed: billed_print(&account.plan),
    }
}
