//! Connections that outlive the request that opened them: whether their caller may go on, and what they use.

use sluicegate_core::policy::Bypass;
use sluicegate_core::time::Timestamp;

use super::identify::IdentifyError;
use super::prepare::{lacks_scope, scope_of};
use super::{Next, RequestContext};
use crate::ErrorCode;
use crate::decision::Decision;
use crate::engine::Engine;
use crate::permit::Settles;
use crate::request::{CallerRequest, Purpose};

/// Whether the caller of an open connection may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continuation {
    /// It may, or the store that knows cannot be reached.
    Allowed,
    /// It may not: its key was revoked, its account deleted, or it was blocked.
    Ended(ErrorCode),
}

impl Engine {
    /// Whether a caller that was admitted may go on: identity, blocks and scope are checked again. Limits are not, and
    /// nothing is charged or recorded.
    pub async fn continuation(&self, request: &CallerRequest<'_>, now: Timestamp) -> Continuation {
        let request = CallerRequest { purpose: Purpose::Peek, ..*request };
        let mut context = self.begin(&request, now);
        if let Some(shared) = &self.shared {
            self.look_up(shared, &mut context).await;
        }
        let caller = match self.identify(&context) {
            Ok(caller) => caller,
            // An outage of the store ends no connection.
            Err(IdentifyError::Error(ErrorCode::Unavailable)) => return Continuation::Allowed,
            Err(IdentifyError::Error(error)) => return Continuation::Ended(error),
            Err(IdentifyError::Refused(refused)) => return Continuation::Ended(refused.0.error),
        };
        let policy = context.policy.policy();
        let route = policy.routes.find(request.method, request.path).map(|(_, route)| route);
        match lacks_scope(&caller, scope_of(policy, route)) {
            Some(error) if caller.plan.bypass == Bypass::No => Continuation::Ended(error),
            _ => Continuation::Allowed,
        }
    }

    /// Charges the cost of a request to its caller's quotas alone, and records it: what an open connection has used
    /// since it was admitted. Rates and slots were charged when the connection began.
    pub async fn charge_quota(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let mut context = self.begin(request, now);
        if let Some(shared) = &self.shared {
            self.look_up(shared, &mut context).await;
        }
        let mut decision = match self.prepare_quota(&context) {
            Next::Decided(decision) => decision,
            Next::Ask(attempt) => match &self.shared {
                None => self.drive_memory(&context, attempt),
                Some(shared) => Box::pin(self.drive_redis(shared, &context, attempt)).await,
            },
        };
        self.seen(&context, &mut decision);
        self.settled(decision).await
    }

    fn prepare_quota(&self, context: &RequestContext<'_>) -> Next {
        let caller = match self.identify(context) {
            Ok(caller) => caller,
            Err(IdentifyError::Error(error)) => return Next::Decided(context.refuse(error)),
            Err(IdentifyError::Refused(refused)) => {
                return Next::Decided(context.refuse_unknown(refused.0));
            }
        };
        let route = context.policy.policy().routes.find(context.request.method, context.request.path);
        let mut permit = context.permit(&caller, route);
        if caller.plan.bypass == Bypass::Yes {
            return Next::Decided(self.admit_bypass(context, caller, &permit));
        }
        permit.settles = Settles::QuotaOnly;
        self.attempt(caller, permit, None)
    }
}
