//! A server, a node that is connected to it, and limits to ask for.

use std::cell::Cell;
use std::time::Duration;

use sluicegate_core::book::LimitId;
use sluicegate_core::calendar::{Calendar, CalendarUnit};
use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket};
use sluicegate_core::time::{Timestamp, Window};
use sluicegate_store::redis::{
    Address, Applied, Ask, CallError, HomeCall, Link, LinkOptions, Meters, NodeId, Resolved, Seq, Settled,
};
use sluicegate_testkit::redis::{Engine, RedisServer};
use tokio::runtime::Runtime;

/// A deadline for tests that are not about deadlines: machines that build something else meanwhile are slow.
pub(crate) const PATIENT: Duration = Duration::from_secs(20);

pub(crate) const NODE: NodeId = NodeId(0x0102_0304_0506_0708);

/// A server and a node.
pub(crate) struct Bed {
    pub(crate) runtime: Runtime,
    pub(crate) meters: Meters,
    pub(crate) server: RedisServer,
    seq: Cell<u64>,
}

impl Bed {
    pub(crate) fn new(engine: Engine) -> Self {
        let server = RedisServer::new(engine);
        let runtime = runtime();
        let link = runtime.block_on(async { link(&server.url(), PATIENT) });
        runtime.block_on(link.ready(PATIENT)).unwrap();
        Self { runtime, meters: Meters::new(link, NODE), server, seq: Cell::new(1_000) }
    }

    /// Another node on the same server.
    pub(crate) fn another(&self, url: &str, deadline: Duration, node: NodeId) -> Meters {
        let link = self.runtime.block_on(async { link(url, deadline) });
        self.runtime.block_on(link.ready(PATIENT)).unwrap();
        Meters::new(link, node)
    }

    /// Waits for a server that was started again.
    pub(crate) fn reconnect(&mut self) {
        let link = self.runtime.block_on(async { link(&self.server.url(), PATIENT) });
        self.runtime.block_on(link.ready(PATIENT)).unwrap();
        self.meters = Meters::new(link, NODE);
    }

    /// A number that was not used before.
    pub(crate) fn seq(&self) -> Seq {
        self.seq.set(self.seq.get() + 1);
        Seq::new(self.seq.get()).unwrap()
    }

    /// Settles plans together.
    pub(crate) fn call(&self, home: HomeId, plans: &[ChargePlan<'_>]) -> Vec<Settled> {
        self.call_as(self.seq(), home, plans, None).unwrap()
    }

    pub(crate) fn call_as(
        &self,
        seq: Seq,
        home: HomeId,
        plans: &[ChargePlan<'_>],
        now: Option<Timestamp>,
    ) -> Result<Vec<Settled>, CallError> {
        let asks: Vec<Ask<'_>> =
            plans.iter().map(|plan| Ask { plan, holder: NODE, name: None, hold: None }).collect();
        let call = HomeCall { home, seq, asks: &asks };
        self.runtime.block_on(async {
            match now {
                Some(now) => self.meters.call_at(&call, now).await,
                None => self.meters.call(&call).await,
            }
        })
    }

    /// Settles one plan.
    pub(crate) fn ask(&self, plan: &ChargePlan<'_>) -> Settled {
        self.call(plan.home, std::slice::from_ref(plan)).remove(0)
    }

    pub(crate) fn resolve(&self, home: HomeId, in_doubt: Seq, fence: Seq) -> Result<Resolved, CallError> {
        self.runtime.block_on(self.meters.resolve(home, in_doubt, fence))
    }

    /// What became of each plan of a call; nothing if the call was never made.
    pub(crate) fn fates(&self, home: HomeId, in_doubt: Seq, fence: Seq) -> Result<Vec<Applied>, CallError> {
        self.resolve(home, in_doubt, fence).map(|resolved| match resolved {
            Resolved::Applied { plans, .. } => plans,
            Resolved::Never => Vec::new(),
        })
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Settles one plan as a node that may be another than the bed's.
pub(crate) async fn ask_as(meters: &Meters, seq: Seq, plan: &ChargePlan<'_>) -> Result<Settled, CallError> {
    let asks = [Ask { plan, holder: NODE, name: None, hold: None }];
    let settled = meters.call(&HomeCall { home: plan.home, seq, asks: &asks }).await;
    settled.map(|mut settled| settled.remove(0))
}

/// A link that begins to connect. Call it within a runtime.
pub(crate) fn link(url: &str, deadline: Duration) -> Link {
    let options = LinkOptions { deadline, ..LinkOptions::default() };
    Link::open(&Address::parse(url).unwrap(), &options).unwrap()
}

pub(crate) fn limit(name: &str, axis: Axis, rule: Rule) -> Limit {
    let name = LimitName::new(name).unwrap();
    let excess = Excess::Refuse(RefusalStatus::TooManyRequests);
    Limit { name, axis, per: Per::Account, rule, excess, sold: None }
}

pub(crate) fn rate(amount: u64, burst: u64) -> Limit {
    limit("rate", Axis::Rate, Rule::TokenBucket(TokenBucket::new(amount, Window::SECOND, burst).unwrap()))
}

pub(crate) fn monthly(amount: u64) -> Limit {
    let rule =
        Rule::Calendar { limit: Amount::new(amount).unwrap(), calendar: Calendar::utc(CalendarUnit::Month) };
    limit("quota", Axis::Quota, rule)
}

/// A plan that owes `cost` to each of these, all of them the account's.
pub(crate) fn plan<'p>(home: u128, limits: &[&'p Limit], cost: u64, mode: Mode) -> ChargePlan<'p> {
    plan_of(home, limits, cost, mode, 1)
}

pub(crate) fn plan_of<'p>(
    home: u128,
    limits: &[&'p Limit],
    cost: u64,
    mode: Mode,
    slot: u64,
) -> ChargePlan<'p> {
    let now = Timestamp::from_secs(1_790_000_000);
    let mut plan = ChargePlan::new(HomeId(home), now, mode, SlotId(slot));
    for limit in limits {
        let (id, cost) = (LimitId::from_number(0), Amount::new(cost).unwrap());
        plan.add(Charge { limit, id, sharer: Sharer::ALL, cost, period: None, due: Due::Admission });
    }
    plan
}
