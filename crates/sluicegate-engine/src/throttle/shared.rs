//! Throttles whose meters several nodes share.

use sluicegate_core::plan::HomeId;
use sluicegate_core::tariff::Request;
use sluicegate_core::time::Timestamp;

use super::{Throttle, ThrottleAnswer, ThrottleAsk, Throttled, answer_of};
use crate::decision::StoreMode;
use crate::engine::Engine;
use crate::shared::{Shared, is_closed};

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
        let settled = match &self.shared {
            None => self.throttled_by(&throttle.plan, subject, ask, now),
            Some(shared) => Box::pin(self.throttled_there(shared, throttle, subject, ask, now)).await,
        };
        settled.unwrap_or_else(|| throttle.untouched())
    }

    async fn throttled_there(
        &self,
        shared: &Shared,
        throttle: &Throttle,
        subject: HomeId,
        ask: ThrottleAsk,
        now: Timestamp,
    ) -> Option<Throttled> {
        let request = ask.request(subject, now);
        if let Ok(settled) = shared.homes.settle(shared.owed(&throttle.plan, request)).await {
            let plan = throttle.plan.tariff.plan(&Request { now: settled.now, ..request });
            return Throttled::new(answer_of(settled.outcome), &plan, &settled.readings, StoreMode::Normal);
        }
        let policy = self.snapshot.load();
        let degraded = &policy.policy().degraded;
        if is_closed(degraded, &throttle.plan) {
            let answer = ThrottleAnswer::Unavailable;
            return Some(Throttled { answer, mode: StoreMode::Degraded, ..throttle.untouched() });
        }
        let fallback = shared.fallback(&throttle.plan, degraded, &self.meters);
        let throttled = self.throttled_by(&fallback, subject, ask, now);
        // Where rates are open then, the stand-in has no limit.
        let throttled = throttled.unwrap_or_else(|| throttle.untouched());
        Some(Throttled { mode: StoreMode::Degraded, ..throttled })
    }
}
