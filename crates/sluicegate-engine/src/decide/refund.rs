//! Giving back what requests were charged, without having kept their permits.

use sluicegate_core::limit::Axis;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::Charges;
use sluicegate_core::time::Timestamp;

use sluicegate_ledger::Flags;

use super::RequestContext;
use crate::engine::Engine;
use crate::finish::FinishError;
use crate::permit::Permit;
use crate::request::{CallerRequest, Purpose};

impl Engine {
    /// Gives a caller back what its requests like this one were charged around now: what they cost together, but not
    /// more than its quota says was used. Says how much. To somebody who is not known, nothing is given.
    ///
    /// The record is marked, and `actor` stands in the audit.
    pub async fn give_back(
        &self,
        request: &CallerRequest<'_>,
        actor: &str,
        now: Timestamp,
    ) -> Result<u64, FinishError> {
        let request = CallerRequest { purpose: Purpose::Peek, ..*request };
        let mut context = self.begin(&request, now);
        if let Some(shared) = &self.shared {
            self.look_up(shared, &mut context).await;
        }
        let Ok(caller) = self.identify(&context) else { return Ok(0) };
        let route = context.policy.policy().routes.find(request.method, request.path);
        let mut permit = context.permit(&caller, route);
        if caller.watched.is_prefix() {
            permit.plan = self.plan_for(&caller.plan, &caller.watched, None);
        }
        let limits = self.limits_now(&context, &permit).await.ok_or(FinishError::Unavailable)?;
        let quotas = limits.iter().filter(|limit| limit.axis == Axis::Quota);
        // More than was used would be on the bill as less than nothing.
        let used = quotas.map(|limit| limit.used).min().unwrap_or(u64::MAX);
        permit.cost = permit.cost.and_then(|cost| Amount::new(cost.get().min(used)));
        permit.flags = permit.flags | Flags::GIVEN_BACK;
        let given = self.finish(&permit, None, Some(0), now)?.reserved;
        let target = caller.account.as_ref().map_or("clients", |account| account.id.as_str());
        self.note_give_back(actor, target, given, now);
        Ok(given)
    }

    /// Notes for the audit that `actor` has given back so many units without a permit.
    pub fn note_give_back(&self, actor: &str, target: &str, units: u64, now: Timestamp) {
        self.sign_ins.give_backs.note(actor, target, units, now);
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
