//! After steps of clocks: meters and hours are set right from the records.
//!
//! A timeline that was set back leaves meters in periods that have not begun, and hours closed that are not over. One
//! that leaps ahead may come to a period in which there are records already. A shared store whose clock leapt has
//! expired meters.

use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::rule::Amount;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_ledger::usage::Reopened;

use super::Books;
use super::error::CompareError;
use super::quota::{Counts, Others, blocking};
use super::recount::{Measure, look, looks};
use crate::clock::STEP_MAX;
use crate::clock_keeping::{Leapt, SetBack};

impl Books {
    /// Counts again what steps of clocks have put in doubt. Does nothing where there was none. About once a second.
    pub async fn set_right_after_steps(self: &Arc<Self>) -> Result<(), CompareError> {
        let doubt = self.engine.take_clock_doubt();
        let done = self.set_right(doubt).await;
        if done.is_err() {
            // It is tried again.
            self.engine.put_clock_doubt(doubt);
        }
        done
    }

    async fn set_right(self: &Arc<Self>, doubt: (SetBack, Leapt)) -> Result<(), CompareError> {
        let (SetBack(was_set_back), Leapt(leapt)) = doubt;
        if was_set_back {
            self.forget_the_future().await?;
        }
        if leapt {
            // What was counted before passed over records that were of the future then.
            *self.baseline.lock() = None;
            if self.engine.is_shared() {
                self.charge_what_expired().await?;
            } else {
                let repaired = self.repair(None, &Others::new()).await?.repaired;
                log_counted_again(repaired);
            }
        }
        Ok(())
    }

    /// Opens hours again that are not over, and counts the accounts again whose meters are in a period that has not
    /// begun. Meters of callers without a key begin anew.
    async fn forget_the_future(self: &Arc<Self>) -> Result<(), CompareError> {
        let books = Arc::clone(self);
        let forgotten = blocking(move || {
            let (engine, now) = (&books.engine, books.engine.now());
            let latest = now.plus(STEP_MAX);
            let reopened = books.ledger.reopen(engine.spool(), latest, now).map_err(CompareError::Repair)?;
            if let Reopened::From(from) = reopened {
                tracing::warn!(%from, "hours were closed before they were over, and are open again");
            }
            let homes = engine.meters.forget_ahead_of(latest);
            homes.iter().for_each(|home| engine.watch.touched.add(*home));
            // What was counted before was counted by the time before.
            *books.baseline.lock() = None;
            Ok(homes.len())
        });
        let homes = forgotten.await?;
        if self.engine.is_shared() {
            self.forget_the_future_of_store().await?;
            self.charge_what_expired().await?;
        } else if homes > 0 {
            let repaired = self.repair(None, &Others::new()).await?.repaired;
            tracing::warn!(
                homes,
                repaired,
                "meters were in a period that has not begun, and were counted again from the ledger"
            );
        }
        Ok(())
    }

    /// Empties quotas in the shared store whose period has not begun, for the accounts in the records of this node.
    async fn forget_the_future_of_store(self: &Arc<Self>) -> Result<(), CompareError> {
        let Some(shared) = &self.engine.shared else { return Ok(()) };
        let now = self.engine.now();
        let accounts = self.accounts_of_records().await?;
        for account in accounts.values() {
            for (key, _) in looks(account) {
                let plan = account.plan.tariff.plan(&look(account, key, now));
                shared.journal.forget_ahead_of(&plan, now.plus(STEP_MAX)).await?;
            }
        }
        Ok(())
    }

    /// Charges what meters of the shared store lack of the records of this node. What other nodes used is not known
    /// here: each charges its own, and never more than that.
    async fn charge_what_expired(self: &Arc<Self>) -> Result<(), CompareError> {
        let Some(shared) = &self.engine.shared else { return Ok(()) };
        let (Counts { accounts, counts, .. }, _) = self.count_quotas(None, &Others::new(), None).await?;
        let mut charged = 0_u64;
        for count in counts.iter().filter(|count| count.measure == Measure::Used && count.drift() > 0) {
            let amount = Amount::new(u64::try_from(count.drift()).unwrap_or(u64::MAX));
            let (Some(cost), Some(account)) = (amount, accounts.get(&count.quota.account)) else { continue };
            let which = Charges::One(count.quota.id);
            let look = look(account, count.quota.key, self.engine.now());
            let request = Request { cost, mode: Mode::Force, which, ..look };
            shared.look(&account.plan, request, None).await?;
            charged += 1;
        }
        log_counted_again(charged);
        Ok(())
    }
}

fn log_counted_again(quotas: u64) {
    if quotas > 0 {
        tracing::warn!(
            quotas,
            "quotas said less than the ledger after a leap of a clock, and were set right from it"
        );
    }
}
