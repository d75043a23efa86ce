//! Throttles whose meters several nodes share.

use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::DegradedRate;
use sluicegate_core::tariff::Request;
use sluicegate_core::time::Timestamp;

use super::{Throttle, ThrottleAnswer, ThrottleAsk, Throttled, answer_of};
use crate::decision::StoreMode;
use crate::engine::{Counters, Engine};
use crate::shared::Shared;

impl Engine {
    /// Settles wherever the meters are. While a store that nodes share is away, the policy says what decides: a share
    /// of the limit in this process, or nothing.
    pub async fn throttled(
        &self,
        throttle: &Throttle,
        subject: HomeId,
        ask: ThrottleAsk,
        now: Timestamp,
    ) -> Throttled {
        match &self.shared {
            None => self.throttled_by(throttle, subject, ask, now),
            Some(shared) => Box::pin(self.throttled_there(shared, throttle, subject, ask, now)).await,
        }
    }

    async fn throttled_there(
        &self,
        shared: &Shared,
        throttle: &Throttle,
        subject: HomeId,
        ask: ThrottleAsk,
        now: Timestamp,
    ) -> Throttled {
        let is_taken = matches!(ask, ThrottleAsk::Take(_));
        if self.store_mode() == StoreMode::Normal
            && !self.has_room_in_store(subject, throttle.rule().counts_for(), is_taken, now)
        {
            Counters::count(&self.counters.crowded);
            return self.overflow.settle(throttle, subject, ask, now);
        }
        let (request, plan) = (ask.request(subject, now), throttle.plan());
        if let Ok(settled) = shared.homes.settle(shared.owed(plan, request)).await {
            let plan = plan.tariff.plan(&Request { now: settled.now, ..request });
            let answer = answer_of(settled.outcome);
            let throttled = Throttled::new(answer, &plan, &settled.readings, StoreMode::Normal);
            return throttled.unwrap_or_else(|| throttle.untouched());
        }
        let degraded = self.snapshot.load().policy().degraded;
        let throttled = match degraded.rate {
            DegradedRate::Closed => Throttled { answer: ThrottleAnswer::Unavailable, ..throttle.untouched() },
            DegradedRate::Open => throttle.untouched(),
            // Made from the policy that is in force now, and not from the one under which the throttle was made ready.
            DegradedRate::Local => {
                let share = self.throttle(&throttle.limit().name, &throttle.rule().scaled(degraded.cap));
                self.throttled_by(&share, subject, ask, now)
            }
        };
        Throttled { mode: StoreMode::Degraded, ..throttled }
    }
}
