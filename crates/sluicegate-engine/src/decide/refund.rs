//! Giving back what requests were charged, without having kept their permits.

use sluicegate_core::limit::Axis;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::Charges;
use sluicegate_core::time::Timestamp;

use super::RequestContext;
use crate::engine::Engine;
use crate::finish::FinishError;
use crate::permit::Permit;
use crate::request::{CallerRequest, Purpose};

impl Engine {
    /// Gives a caller back what its requests like this one were charged around now: what they cost together, but not
    /// more than its quota says was used. Says how much. To somebody who is not known, nothing is given.
    pub async fn give_back(&self, request: &CallerRequest<'_>, now: Timestamp) -> Result<u64, FinishError> {
        let request = CallerRequest { purpose: Purpose::Peek, ..*request };
        let mut context = self.begin(&request, now);
        if let Some(shared) = &self.shared {
            self.look_up(shared, &mut context).await;
        }
        let Ok(caller) = self.identify(&context) else { return Ok(0) };
        let route = context.policy.policy().routes.find(request.method, request.path);
        let mut permit = context.permit(&caller, route);
        let limits = self.limits_now(&context, &permit).await.ok_or(FinishError::Unavailable)?;
        let quotas = limits.iter().filter(|limit| limit.axis == Axis::Quota);
        // More than was used would be on the bill as less than nothing.
        let used = quotas.map(|limit| limit.used).min().unwrap_or(u64::MAX);
        permit.cost = permit.cost.and_then(|cost| Amount::new(cost.get().min(used)));
        self.finish(&permit, None, Some(0), now).map(|finished| finished.reserved)
    }

    /// What all limits of a request say. Nothing while the store is away.
    async fn limits_now(&self, context: &RequestContext<'_>, permit: &Permit) -> Option<Vec<LimitNow>> {
        let look = context.request_of(permit, Mode::Peek, Charges::All);
        match &self.shared {
            None => {
                let plan = permit.plan.tariff.plan(&look);
                let mut readings = Readings::new();
                self.meters.settle(&plan, &mut readings);
                Some(LimitNow::all(&plan, &readings))
            }
            Some(shared) => shared.look(&permit.plan, look, context.by).await.ok(),
        }
    }
}
