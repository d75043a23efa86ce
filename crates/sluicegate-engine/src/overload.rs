//! Load shedding in the decision flow: it runs after identification and before charging.

use sluicegate_core::policy::Route;
use sluicegate_core::time::Nanos;

use crate::ErrorCode;
use crate::decide::{Caller, RequestContext};
use crate::decision::Denial;
use crate::engine::Engine;
use crate::request::Forwarder;
use crate::shed::{Entered, Ticket};

/// There is no place for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overloaded {
    retry_after: Nanos,
}

impl Engine {
    /// A place at the upstream, where load is shed. Only a request that is forwarded by this process has one: nobody
    /// says when others end.
    #[inline]
    pub(crate) fn place(
        &self,
        context: &RequestContext<'_>,
        caller: &Caller,
        route: Option<&Route>,
    ) -> Result<Option<Ticket>, Overloaded> {
        match (&context.policy.policy().shedding, context.request.front.forwarder()) {
            (None, _) | (_, Forwarder::Others) => Ok(None),
            (Some(shedding), Forwarder::Us) => {
                let load = self.loads.of(route.and_then(|route| route.upstream.as_ref()), context.now);
                #[expect(clippy::cast_possible_truncation, reason = "half of a keyed hash")]
                let account = caller.home.0 as u64;
                match load.enter(shedding, caller.plan.priority, account, context.now) {
                    Entered::In(ticket) => Ok(Some(ticket)),
                    Entered::Shed { retry_after } => Err(Overloaded { retry_after }),
                }
            }
        }
    }
}

impl Overloaded {
    pub(crate) fn denial(self) -> Denial {
        Denial { retry_after: self.retry_after, ..Denial::of(ErrorCode::Overloaded) }
    }
}
