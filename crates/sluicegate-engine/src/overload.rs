//! Where load shedding stands on the way of a request: behind who it is, before what it costs.

use sluicegate_core::policy::Route;
use sluicegate_core::time::Nanos;

use crate::ErrorCode;
use crate::decide::{Caller, Way};
use crate::decision::{Answer, Decision, Denial};
use crate::engine::Engine;
use crate::permit::Permit;
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
        way: &Way<'_>,
        caller: &Caller,
        route: Option<&Route>,
    ) -> Result<Option<Ticket>, Overloaded> {
        match (&way.policy.policy().shedding, way.request.front.forwarder()) {
            (None, _) | (_, Forwarder::Others) => Ok(None),
            (Some(shedding), Forwarder::Us) => {
                let load = self.loads.of(route.and_then(|route| route.upstream.as_ref()), way.now);
                #[expect(clippy::cast_possible_truncation, reason = "half of a keyed hash")]
                let account = caller.home.0 as u64;
                match load.enter(shedding, caller.plan.priority, account, way.now) {
                    Entered::In(ticket) => Ok(Some(ticket)),
                    Entered::Shed { retry_after } => Err(Overloaded { retry_after }),
                }
            }
        }
    }

    /// Refuses a caller because there is no place. Its limits are shown if that costs nobody a round trip.
    pub(crate) fn refuse_overloaded(
        &self,
        way: &Way<'_>,
        caller: Caller,
        permit: &Permit,
        Overloaded { retry_after }: Overloaded,
    ) -> Decision {
        let denied = Answer::Denied(Denial { retry_after, ..Denial::of(ErrorCode::Overloaded) });
        if self.shared.is_some() {
            return way.decision(caller, permit.route, denied);
        }
        let mut decision = self.refuse_known(way, caller, permit, ErrorCode::Overloaded);
        decision.answer = denied;
        decision
    }
}

impl Decision {
    /// Keeps the place of a request that is admitted. That of one that is not is free again.
    pub(crate) fn with_place(mut self, ticket: Option<Ticket>) -> Self {
        if self.is_admitted() {
            self.ticket = ticket;
        }
        self
    }
}
