//! Meters that several nodes share, in a Redis or Valkey, and what stands in for them while it is away.

mod claim;
mod fallback;
mod finish;
mod in_force;
mod journal;
mod lost;
mod renew;
mod turns;

use std::fmt;
use std::sync::Arc;

use sluicegate_core::policy::Degraded;
use sluicegate_core::tariff::{Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::Position;
use sluicegate_store::meters::MeterTable;
use sluicegate_store::redis::{
    Billed, Homes, Link, Meters, NameUse, NodeId, Owed, PermitClaims, RequestName, SharedPressure, TimeBound,
};
use tokio::runtime::Handle;

use crate::idempotency::{AttemptEnd, ReplayRule};
use crate::ids::DecisionId;
use crate::permit::{FinishedPermits, Permit, PermitName};
use claim::Claiming;
use fallback::Fallbacks;
pub(crate) use fallback::{is_closed, is_owed};
use in_force::InForce;
use journal::Journal;
use lost::LostCalls;
use turns::Turns;

/// How many finished permits a node knows without asking the store.
const RECENT_MAX: usize = 1 << 14;

/// What an engine needs to decide by a store that several nodes share.
#[derive(Clone)]
pub struct SharedParts {
    /// The meters, as this node asks them.
    pub homes: Homes,
    /// The meters, as the journal asks them: under a number of its own, so that what it settles is settled once.
    pub journal: Meters,
    /// This node.
    pub node: NodeId,
    /// The way to the blocks of all nodes, and to what they say of permits.
    pub blocks: Link,
    /// How far the clock of the store is believed, by both of the above.
    pub time_bound: Arc<TimeBound>,
}

impl fmt::Debug for SharedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedParts").field("node", &self.node).finish_non_exhaustive()
    }
}

/// The store that several nodes share.
pub(crate) struct Shared {
    pub(crate) homes: Homes,
    pub(crate) node: NodeId,
    /// Where that is done which nobody waits for.
    runtime: Handle,
    pub(crate) journal: Journal,
    fallbacks: Fallbacks,
    pub(crate) turns: Turns,
    pub(crate) time_bound: Arc<TimeBound>,
    /// Who finishes which permit, as all nodes know it.
    claims: PermitClaims,
    /// The fingerprints behind addresses, as all nodes have seen them.
    pub(crate) pressure: SharedPressure,
    /// The permits that this node is claiming.
    claiming: Claiming,
    /// Some of those that were finished lately, so that their repeats need not ask the store.
    recent: FinishedPermits,
    /// Calls that were cut off.
    lost: LostCalls,
    /// What the store is still to be told before more is admitted.
    pub(crate) in_force: InForce,
}

impl Shared {
    /// Must be called within a tokio runtime. The records before `tail` are those of earlier processes.
    pub(crate) fn new(parts: SharedParts, tail: Position) -> Self {
        let journal = Journal::new(parts.journal, parts.node);
        parts.homes.tell_undone(journal.news());
        Self {
            homes: parts.homes,
            node: parts.node,
            runtime: Handle::current(),
            journal,
            fallbacks: Fallbacks::default(),
            turns: Turns::default(),
            time_bound: parts.time_bound,
            pressure: SharedPressure::new(parts.blocks.clone()),
            claims: PermitClaims::new(parts.blocks),
            claiming: Claiming::new(tail),
            recent: FinishedPermits::with_max(RECENT_MAX),
            lost: LostCalls::default(),
            in_force: InForce::default(),
        }
    }

    /// Forgets what nobody uses any more.
    pub(crate) fn sweep(&self, now: Timestamp) {
        self.fallbacks.sweep();
        self.recent.sweep(now);
        drop(self.recent.take_forgotten());
    }

    /// What stands in for a plan while the store is away.
    pub(crate) fn fallback(&self, plan: &Arc<Plan>, degraded: &Degraded, meters: &MeterTable) -> Arc<Plan> {
        self.fallbacks.of(plan, degraded, meters)
    }

    /// What is asked of the store about a request under a plan.
    pub(crate) fn owed(&self, plan: &Arc<Plan>, request: Request) -> Owed {
        Owed { plan: Arc::clone(plan), request, holder: self.node, name: None, hold: None, billed: None }
    }

    /// What is asked of the store about the request of a permit, whose slot may be a service's.
    pub(crate) fn owed_by(&self, permit: &Permit, request: Request) -> Owed {
        let holder = permit.slot.holder.map_or(self.node, NodeId);
        let Permit { account, key, route_number: route, decision, .. } = *permit;
        let billed =
            (account != 0).then_some(Billed { account, key, route, decision: decision.0, overage: 0 });
        Owed { holder, billed, ..self.owed(&permit.plan, request) }
    }
}

/// The name of a request, as the store is told.
pub(crate) fn name_of(name: PermitName, decision: DecisionId) -> RequestName {
    let PermitName { idempotency, rule } = name;
    let used = match rule {
        ReplayRule::Vouched => NameUse::Vouched,
        ReplayRule::Free => NameUse::Free,
        ReplayRule::AfterFailure => NameUse::AfterFailure,
    };
    let (key, request) = (idempotency.key, idempotency.request);
    RequestName { key, request, decision: decision.0, since: None, used }
}

/// The name of a request that has ended, as the store is told.
pub(crate) fn ended_name_of(name: PermitName, decision: DecisionId, end: AttemptEnd) -> RequestName {
    let used = match end {
        AttemptEnd::Refunded => NameUse::Refunded,
        AttemptEnd::Failed => NameUse::Failed,
        AttemptEnd::Delivered => NameUse::Delivered,
    };
    RequestName { used, ..name_of(name, decision) }
}
