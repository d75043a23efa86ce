//! How long a refused caller has to wait whose limits are, or have just become, smaller than what it bought.
//!
//! Its limits grow again while it waits: at each level of reputation it has to wait until it has that level, and until
//! the cost fits the limits of it. The shortest of these waits is what it is told. Whoever waits longer has the same
//! limits or larger ones, so the wait is never too short.

use sluicegate_core::limit::{Limit, LimitName};
use sluicegate_core::plan::{Charge, ChargePlan, Due, Mode, Sharer};
use sluicegate_core::policy::{Bucket, Percent, Reputation};
use sluicegate_core::rule::{Answer as Fit, Rule};
use sluicegate_core::settle::{Outcome, Reading, Readings};
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_core::wait::wait_at;

use super::seat::counts_for;
use super::steps::{PrefixShare, Watched};
use crate::decide::{Attempt, Caller, RequestContext, answer_of, refusal};
use crate::decision::Answer;
use crate::engine::Engine;

/// What a caller has of its limits from some time on.
struct Level {
    after: Nanos,
    share: Percent,
}

/// What is known of the limits with some share, by having asked them.
#[derive(Clone, Copy)]
struct Known {
    share: Percent,
    wait: Nanos,
}

impl Engine {
    /// How long a caller is told to wait that was refused: what its limits said, with slots by estimate, with what the
    /// refusal brings upon it.
    #[inline]
    pub(crate) fn told_wait(
        &self,
        context: &RequestContext<'_>,
        caller: &Caller,
        plan: &ChargePlan<'_>,
        readings: &Readings,
        retry_after: Nanos,
    ) -> Nanos {
        let mut wait = self.holds.retry_after(caller.plan.number, plan, readings, retry_after);
        if plan.is_plain() {
            return wait;
        }
        if let Some(bucket) = fallen_from(plan, readings) {
            let known = Known { share: bucket.share().and(caller.watched.share), wait };
            wait = self.wait_of(caller, plan, readings, Some(known)).unwrap_or(wait);
        }
        let blocked_for = self.held_against(context, &caller.watched, plan, readings);
        wait.max(blocked_for.unwrap_or(Nanos::ZERO))
    }

    /// How long a caller is told to wait that the meters of its address prefix refuse for so long. If the pressure
    /// lasts that long, they decide then; if it ends before, the caller's own meters do.
    #[cold]
    pub(crate) fn told_wait_of_prefix(
        &self,
        context: &RequestContext<'_>,
        attempt: &Attempt,
        retry_after: Nanos,
    ) -> Nanos {
        let caller = &attempt.caller;
        let Some(prefix) = caller.watched.prefix else { return retry_after };
        if retry_after <= Timestamp::from_secs(prefix.until_s).since(context.now) {
            return retry_after;
        }
        let own = match &self.shared {
            None => self.own_wait(context, attempt),
            // A flood of refusals asks a shared store for nothing, so nobody knows what the caller has used: after this
            // long it does not count any more.
            Some(_) => counts_for(&caller.plan),
        };
        relief(context, prefix).max(own)
    }

    /// After how long the caller's own meters would admit it.
    fn own_wait(&self, context: &RequestContext<'_>, attempt: &Attempt) -> Nanos {
        let sold = &attempt.caller.plan;
        let Some(client) = attempt.caller.client else { return Nanos::ZERO };
        let own = Watched::key(client.0, Sharer::ALL);
        let mut reputation = self.guess(sold, &own);
        // Each turn learns the reputation that the one before lacked.
        for _ in Bucket::ALL {
            let sized = self.plan_for(sold, &own, reputation);
            let request = context.request_of(&attempt.permit, Mode::Peek, Charges::All);
            let plan = sized.tariff.plan(&Request { home: own.home, ..request });
            let mut readings = Readings::new();
            match self.meters.settle(&plan, &mut readings) {
                Outcome::Elsewhere { remaining } => {
                    let score = u8::try_from(remaining).unwrap_or(u8::MAX);
                    reputation = Some(Reputation::bucket(score));
                }
                Outcome::Refused { retry_after, .. } => {
                    return self.holds.retry_after(sold.number, &plan, &readings, retry_after);
                }
                Outcome::Admitted { .. } | Outcome::Conflicts => return Nanos::ZERO,
                Outcome::NeverFits { .. } => break,
            }
        }
        counts_for(sold)
    }

    /// Refuses a cost that does not fit a limit: until enough of the limit is left again, or for good.
    #[cold]
    pub(crate) fn too_large(
        &self,
        context: &RequestContext<'_>,
        caller: &Caller,
        plan: &ChargePlan<'_>,
        by: usize,
        readings: &Readings,
    ) -> Answer {
        if let Some(wait) = relieved(context, caller, plan, readings) {
            return Answer::Denied(refusal(plan.charges().get(by).map(|charge| charge.limit), wait));
        }
        match self.wait_of(caller, plan, readings, None) {
            Some(wait) => Answer::Denied(refusal(plan.charges().get(by).map(|charge| charge.limit), wait)),
            None => {
                let by = never_fits(caller, plan, readings).unwrap_or(by);
                answer_of(plan, Outcome::NeverFits { by })
            }
        }
    }

    /// After how long a request is admitted that its caller's limits refuse, as they are now or because they are
    /// smaller than what it bought. Nothing: never, whatever it waits for.
    #[cold]
    fn wait_of(
        &self,
        caller: &Caller,
        plan: &ChargePlan<'_>,
        readings: &Readings,
        known: Option<Known>,
    ) -> Option<Nanos> {
        let estimate = self.holds.estimate(caller.plan.number);
        let levels = levels(&caller.watched, plan, readings);
        let waits = levels.into_iter().filter_map(|level| {
            let mut wait = Nanos::ZERO;
            for (charge, reading) in admission_charges(plan, readings) {
                let limit = caller.sold(charge.limit)?;
                let limit = caller.watched.scaled(limit, level.share);
                match wait_at(&limit, charge.cost.get(), &charge.limit.rule, reading) {
                    Fit::Fits => {}
                    Fit::Wait(_) if matches!(limit.rule, Rule::Concurrency { .. }) => {
                        wait = wait.max(estimate.min(reading.reset));
                    }
                    Fit::Wait(time) => wait = wait.max(time),
                    Fit::Never => return None,
                }
            }
            // A limit that is as large as the one that was asked refuses no longer than that one.
            let known = known.filter(|known| level.share >= known.share);
            Some(known.map_or(wait, |known| wait.min(known.wait)).max(level.after))
        });
        waits.min()
    }
}

/// The level of reputation that the plan was made for, if the refusal itself has taken the caller below it.
fn fallen_from(plan: &ChargePlan<'_>, readings: &[Reading]) -> Option<Bucket> {
    let expects = plan.expects?;
    let has_fallen = readings.get(expects.place)?.remaining < expects.least;
    Bucket::ALL.into_iter().find(|bucket| has_fallen && *bucket.scores().start() == expects.least)
}

/// The place of the first charge that never fits what the caller bought.
fn never_fits(caller: &Caller, plan: &ChargePlan<'_>, readings: &Readings) -> Option<usize> {
    admission_charges(plan, readings).position(|(charge, reading)| {
        let limit = caller.sold(charge.limit).map(|sold| caller.watched.scaled(sold, Percent::FULL));
        limit.is_some_and(|limit| {
            wait_at(&limit, charge.cost.get(), &charge.limit.rule, reading) == Fit::Never
        })
    })
}

fn admission_charges<'r, 'p>(
    plan: &'r ChargePlan<'p>,
    readings: &'r [Reading],
) -> impl Iterator<Item = (&'r Charge<'p>, &'r Reading)> {
    plan.charges().iter().zip(readings).filter(|(charge, _)| charge.due == Due::Admission)
}

/// What a caller has of its limits from now on, if it is not refused again.
fn levels(watched: &Watched, plan: &ChargePlan<'_>, readings: &Readings) -> Vec<Level> {
    let reputation =
        plan.charges().iter().zip(readings).find_map(|(charge, reading)| match &charge.limit.rule {
            Rule::TokenBucket(points) if charge.limit.name.as_str() == LimitName::REPUTATION => {
                (charge.due == Due::Refusal).then_some((points, reading.reset))
            }
            _ => None,
        });
    let by_reputation: Vec<Level> = match reputation {
        None => vec![Level { after: Nanos::ZERO, share: Percent::FULL }],
        Some((points, recovered)) => Bucket::ALL
            .into_iter()
            .map(|bucket| {
                let missing = u64::from(Reputation::POINTS_MAX) - bucket.scores().start();
                let after = Nanos(recovered.0.saturating_sub(points.time_of(missing).0));
                Level { after, share: bucket.share() }
            })
            .collect(),
    };
    by_reputation.into_iter().map(|level| Level { share: level.share.and(watched.share), ..level }).collect()
}

/// When the pressure on an address has ended for sure, if nobody else comes: no fingerprint of now counts any more.
fn relief(context: &RequestContext<'_>, prefix: PrefixShare) -> Nanos {
    let window =
        context.policy.policy().pressure.map_or(Nanos::ZERO, |pressure| Nanos(pressure.window.as_nanos()));
    Timestamp::from_secs(prefix.until_s).since(context.now).max(window)
}

/// After how long a cost is admitted that is larger than what the callers of an address share under pressure, but not
/// than what one caller has without it: the pressure has ended, and what the caller used before it does not count any
/// more. Nothing: it is none of these.
#[cold]
fn relieved(
    context: &RequestContext<'_>,
    caller: &Caller,
    plan: &ChargePlan<'_>,
    readings: &Readings,
) -> Option<Nanos> {
    let prefix = caller.watched.prefix?;
    for (charge, reading) in admission_charges(plan, readings) {
        if wait_at(caller.sold(charge.limit)?, charge.cost.get(), &charge.limit.rule, reading) == Fit::Never {
            return None;
        }
    }
    Some(relief(context, prefix).max(counts_for(&caller.plan)))
}

impl Caller {
    /// A limit as the caller bought it.
    fn sold(&self, limit: &Limit) -> Option<&Limit> {
        self.plan.tariff.limits().find(|sold| sold.name == limit.name)
    }
}
