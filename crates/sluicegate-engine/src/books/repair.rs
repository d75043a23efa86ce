//! Setting meters right: the ledger is the truth, and what a quota has used is what its records say.

use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Request};

use super::Books;
use super::error::CompareError;
use super::quota::{Counts, Others, QuotaCount, blocking};
use super::recount::{Measure, look};

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
        let mut repaired = 0;
        let (used, overage): (Vec<_>, Vec<_>) =
            counts.iter().partition(|count| count.measure == Measure::Used);
        for count in used {
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
            repaired += 1;
        }
        // Afterwards: what was charged or given back has changed it.
        for count in overage {
            let Some(account) = accounts.get(&count.quota.account) else { continue };
            let which = Charges::One(count.quota.id);
            let request = Request { which, ..look(account, count.quota.key, self.engine.now()) };
            let (overage, plan) =
                (u64::try_from(count.records).unwrap_or(0), account.plan.tariff.plan(&request));
            repaired += u64::from(count.drift() != 0);
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
        if repaired > 0 && self.engine.shared.is_none() {
            // No record says it, so only a checkpoint keeps it.
            let engine = Arc::clone(&self.engine);
            blocking(move || engine.save(engine.now()).map(drop).map_err(CompareError::Save)).await?;
        }
        Ok(Repaired { compared: counts, repaired })
    }
}
