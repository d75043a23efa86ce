//! From counts to rules: of this node alone, or of all nodes together.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::directory::StoreError;
use sluicegate_store::redis::alerts::counts::{Lease, SharedCounts, Slice};

use super::STEP_S;
use super::address_refusals::Refusals;
use super::caller_rate::RatesUsed;
use super::counts::Observed;
use super::drift::Found;
use super::keeper::{Keeper, step_of};
use super::rules::Rules;
use super::sums;
use super::tally::{Tally, minute_of};
use crate::engine::Engine;

/// So long after its end a minute's records are all there.
const LATE: u32 = 5;
/// So long after its end all nodes have told what they counted in a minute, or a step.
const TOLD_LATE: u32 = 15;
/// For how long a node has the lease, from the last time it took it.
const LEASE_LENGTH: Duration = Duration::from_secs(30);
/// The lease.
const LEASE: &str = "rules";
/// How long the sums of a step are kept.
const STEPS_KEPT: Duration = Duration::from_secs(300);
/// How long those of a minute are: more than the hour that is looked at.
const MINUTES_KEPT: Duration = Duration::from_secs(2 * 3_600);
/// How far back whoever takes the lease looks: an hour, and the last minute of steps.
const BACK_MINUTES: u64 = 59;
const BACK_STEPS: u64 = 5;
/// After so long a node that has told nothing is gone. Nodes compare meters and records every hour.
const DRIFT_KEPT_S: u32 = 3 * 3_600;

/// The rules, and how far they have looked.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) rules: Rules,
    /// What fires by the list of all nodes.
    firing: BTreeSet<String>,
    next_step: u64,
    next_minute: u64,
}

/// What was counted on this node since the last look.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The step that has ended: what was decided in it, and who was refused how often.
    step: Option<(u64, Observed, Refusals)>,
    /// Minutes that have ended.
    minutes: Vec<(u64, RatesUsed)>,
}

impl Evaluation {
    /// Without other nodes.
    pub(super) const fn alone(rules: Rules) -> Self {
        Self { rules, firing: BTreeSet::new(), next_step: 0, next_minute: 0 }
    }

    /// The rules hear what this node has counted.
    pub(super) fn here(&mut self, counted: Counted) {
        if let Some((step, observed, addresses)) = counted.step {
            self.rules.share.step(step, observed);
            self.rules.addresses.add(step * u64::from(STEP_S) / 60, addresses);
        }
        for (minute, used) in counted.minutes {
            self.rules.callers.minute(minute, used);
        }
    }
}

impl Engine {
    /// What was counted here, if a step has ended since the last look.
    pub(super) fn count(&self, keeper: &mut Keeper, now: Timestamp) -> Counted {
        let alerting = &self.alerting;
        let tally = keeper.tally.get_or_insert_with(|| Tally::new(&self.spool, now));
        tally.read(&self.spool);
        let ended = earlier(now, LATE);
        let minutes = tally.ended(self, ended);
        let running = step_of(now);
        let step = match keeper.step.replace(running) {
            Some(step) if step < running => {
                let sum = Observed::of(&self.pulse.decided());
                let counted = sum.since(std::mem::replace(&mut keeper.before, sum));
                Some((running - 1, counted, alerting.refused.take()))
            }
            _ => None,
        };
        Counted { step, minutes }
    }

    /// Tells the other nodes what this one has counted, and asks the rules about all of them if it is its turn.
    pub(super) async fn look_together(
        &self,
        keeper: &mut Keeper,
        shared: &SharedCounts,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let counted = self.count(keeper, now);
        self.tell_nodes().await?;
        let is_due = counted.step.is_some();
        self.add_counts(shared, counted, now).await?;
        if !is_due {
            return Ok(());
        }
        let looked = self.evaluate(keeper, shared, now).await;
        self.alerting.firing.store(self.alerts().firing().await?.len(), Ordering::Relaxed);
        looked
    }

    /// Asks the rules about all nodes, if it is this one's turn.
    async fn evaluate(
        &self,
        keeper: &mut Keeper,
        shared: &SharedCounts,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if shared.lease(LEASE, LEASE_LENGTH).await? == Lease::Elsewhere {
            keeper.evaluation = None;
            return Ok(());
        }
        let evaluation = match keeper.evaluation.take() {
            Some(evaluation) => evaluation,
            None => self.take_over(now).await?,
        };
        let evaluation = keeper.evaluation.insert(evaluation);
        evaluation.look(shared, now).await?;
        let wanted = evaluation.rules.wanted();
        self.reconcile(self.alerts(), &mut evaluation.firing, wanted, self.tell(false), now).await
    }

    async fn add_counts(
        &self,
        shared: &SharedCounts,
        counted: Counted,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let conditions = self.alerting.conditions.now();
        if let Some(found) = conditions.drift.filter(|_| !conditions.drift_told) {
            shared.put_drift(&sums::of_drift(found, now.as_secs())).await?;
            self.alerting.conditions.told_drift();
        }
        if let Some((step, observed, addresses)) = counted.step {
            shared.add(Slice::Step(step), &sums::of_step(observed), STEPS_KEPT).await?;
            let minute = Slice::Minute(step * u64::from(STEP_S) / 60);
            shared.add(minute, &sums::of_addresses(addresses), MINUTES_KEPT).await?;
        }
        for (minute, used) in counted.minutes {
            shared.add(Slice::Minute(minute), &sums::of_rates(used), MINUTES_KEPT).await?;
        }
        Ok(())
    }

    /// Goes on where another node has left off: with what fires by the list, and with what was counted within the
    /// hour.
    async fn take_over(&self, now: Timestamp) -> Result<Evaluation, StoreError> {
        let mut firing = self.alerts().firing().await?;
        firing.retain(|(subject, _)| Rules::own(subject));
        let told = earlier(now, TOLD_LATE);
        Ok(Evaluation {
            rules: Rules::restored(&firing),
            firing: firing.into_iter().map(|(subject, _)| subject).collect(),
            next_step: step_of(told).saturating_sub(BACK_STEPS),
            next_minute: minute_of(told).saturating_sub(BACK_MINUTES),
        })
    }
}

impl Evaluation {
    /// Reads what all nodes have counted, as far as they have told it.
    async fn look(&mut self, shared: &SharedCounts, now: Timestamp) -> Result<(), StoreError> {
        let told = earlier(now, TOLD_LATE);
        while self.next_step < step_of(told) {
            let counted = sums::step(&shared.read(Slice::Step(self.next_step)).await?);
            self.rules.share.step(self.next_step, counted);
            self.next_step += 1;
        }
        while self.next_minute < minute_of(told) {
            let (addresses, used) = sums::minute(&shared.read(Slice::Minute(self.next_minute)).await?);
            self.rules.addresses.add(self.next_minute, addresses);
            self.rules.callers.minute(self.next_minute, used);
            self.next_minute += 1;
        }
        let mut found: Option<Found> = None;
        for (node, text) in shared.drifts().await? {
            match sums::drift(&text) {
                Some((at, drift)) if now.as_secs() < at.saturating_add(DRIFT_KEPT_S) => {
                    found = Some(found.unwrap_or_default().and(drift));
                }
                _ => shared.forget_drift(&node).await?,
            }
        }
        self.rules.drift.compared(found);
        Ok(())
    }
}

fn earlier(now: Timestamp, secs: u32) -> Timestamp {
    Timestamp::from_nanos(now.as_nanos().saturating_sub(Nanos::from_secs(secs).0))
}
