//! Nodes on one server, with a network between that misbehaves on command.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::book::LimitId;
use sluicegate_core::limit::Limit;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::{Bypass, RefundOn, Tier, TierLimit, TierName};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::{AccountCalendar, Charges, Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_store::redis::{Away, Homes, HomesSettings, Meters, NodeId, Owed, Seq, Settled, StoreMode};
use sluicegate_testkit::chaos::ChaosProxy;
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};
use sluicegate_testkit::wait;
use tokio::runtime::Runtime;

use crate::bed::{PATIENT, link};

/// The deadline of tests that are about it.
pub(crate) const DEADLINE: Duration = Duration::from_millis(50);

pub(crate) struct HomesBed {
    pub(crate) runtime: Runtime,
    pub(crate) proxy: ChaosProxy,
    pub(crate) server: RedisServer,
}

impl HomesBed {
    /// A server that keeps what it was told.
    pub(crate) fn new(engine: Engine) -> Self {
        let server = RedisLaunch::new(engine).append_only().start();
        let proxy = ChaosProxy::start(server.address());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, proxy, server }
    }

    /// A node with this number and deadline.
    pub(crate) fn node(&self, number: u64, deadline: Duration) -> Homes {
        let settings = HomesSettings { deadline, ..HomesSettings::default() };
        self.node_with(number, settings)
    }

    pub(crate) fn node_with(&self, number: u64, settings: HomesSettings) -> Homes {
        let link = self
            .runtime
            .block_on(async { link(&format!("redis://{}", self.proxy.address()), settings.deadline) });
        self.runtime.block_on(link.ready(PATIENT)).unwrap();
        let node = NodeId(number);
        let homes = Homes::new(Meters::new(link, node), node, Seq::new(1_000).unwrap(), settings);
        // The script is loaded, and the periods are known.
        let _ = self.settle(&homes, owed(&plan(&[crate::bed::monthly(1)]), 999_999, 1, Mode::Peek));
        homes
    }

    pub(crate) fn settle(&self, homes: &Homes, owed: Owed) -> Result<Settled, Away> {
        self.runtime.block_on(homes.settle(owed))
    }

    /// What the meters of a home say, once the node is at rest and asks the store.
    pub(crate) fn used(&self, homes: &Homes, plan: &Arc<Plan>, home: u128) -> Vec<u64> {
        wait::until("the node is at rest", || {
            (homes.mode() == StoreMode::Normal && homes.active() == 0).then_some(())
        });
        let settled =
            wait::until("the store answers", || self.settle(homes, owed(plan, home, 1, Mode::Peek)).ok());
        settled.readings.iter().map(|reading| reading.used).collect()
    }

    /// Settles many at once, and counts those that were admitted.
    pub(crate) fn admitted(&self, asks: Vec<(Homes, Owed)>) -> usize {
        self.runtime.block_on(async {
            let asks: Vec<_> = asks
                .into_iter()
                .map(|(homes, owed)| tokio::spawn(async move { homes.settle(owed).await }))
                .collect();
            let mut admitted = 0;
            for ask in asks {
                admitted += usize::from(is_admitted(&ask.await.unwrap()));
            }
            admitted
        })
    }
}

pub(crate) fn is_admitted(settled: &Result<Settled, Away>) -> bool {
    matches!(settled, Ok(Settled { outcome: Outcome::Admitted { .. }, .. }))
}

pub(crate) fn is_refused(settled: &Result<Settled, Away>) -> bool {
    matches!(settled, Ok(Settled { outcome: Outcome::Refused { .. }, .. }))
}

pub(crate) fn plan(limits: &[Limit]) -> Arc<Plan> {
    let limits = limits.iter().map(|limit| TierLimit { limit: limit.clone(), routes: Vec::new() });
    let tier = Tier {
        name: TierName::new("tier").unwrap(),
        limits: limits.collect(),
        priority: 0,
        bypass: Bypass::No,
        refund_on: RefundOn::Nothing,
    };
    Arc::new(Plan::new(&tier, &AccountCalendar::default(), 1, |_| LimitId::from_number(0)))
}

pub(crate) fn owed(plan: &Arc<Plan>, home: u128, cost: u64, mode: Mode) -> Owed {
    let request = Request {
        home: HomeId(home),
        key: None,
        route: None,
        cost: Amount::new(cost).unwrap(),
        now: now(),
        mode,
        which: Charges::All,
        slot: SlotId(1),
    };
    Owed { plan: Arc::clone(plan), request, holder: NodeId(1), name: None, hold: None, billed: None }
}

/// What the clock of the node says.
#[expect(clippy::disallowed_methods, reason = "the server has a clock of its own, and theirs are compared")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_nanos(u64::try_from(since.as_nanos()).unwrap())
}
