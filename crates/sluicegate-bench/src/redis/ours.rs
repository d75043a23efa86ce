//! Ours: a rate and a quota of an account, settled by one call of the store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use sluicegate_core::plan::HomeId;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Timestamp;
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::redis::{Address, Ask, HomeCall, Link, LinkOptions, Meters, NodeId, Seq, Settled};

use super::limits::{generous, request};
use super::load::Caller;
use super::{ACCOUNTS, CONNECTIONS};
use crate::timing::{Clock, Now as _};
use crate::workload::write_key;

/// How long the first connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// This is no test of deadlines: a neighbour on the machine must not break off a round.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

pub(super) const NODE: NodeId = NodeId(7);

/// The store, and who asks it.
#[derive(Clone)]
pub(super) struct Ours {
    pub(super) server: SocketAddr,
    pub(super) plan: Arc<Plan>,
    pub(super) homes: Arc<Vec<HomeId>>,
}

impl Ours {
    pub(super) fn new(server: SocketAddr) -> Result<Self> {
        let hasher = HomeHasher::new([7; 16]);
        let home = |account| {
            let mut key = String::new();
            write_key(account, &mut key);
            hasher.of_name(key.as_bytes())
        };
        Ok(Self { server, plan: generous()?, homes: Arc::new((0..ACCOUNTS).map(home).collect()) })
    }

    /// Callers that share the accounts, with a connection each.
    pub(super) async fn callers(&self) -> Result<Vec<OurCaller>> {
        let mut callers = Vec::with_capacity(CONNECTIONS);
        for index in 0..CONNECTIONS {
            let meters = Meters::new(link(self.server).await?, NODE);
            let next = index * self.homes.len() / CONNECTIONS;
            callers.push(OurCaller { ours: self.clone(), meters, clock: Clock::new(), next });
        }
        Ok(callers)
    }
}

pub(super) async fn link(server: SocketAddr) -> Result<Link> {
    let address = Address::parse(&format!("redis://{server}"))?;
    let link = Link::open(&address, &LinkOptions { deadline: DEADLINE, ..LinkOptions::default() })?;
    link.ready(PATIENCE).await?;
    Ok(link)
}

pub(super) fn now(clock: &Clock) -> Result<Timestamp> {
    let since = SystemTime::read(clock).duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Timestamp::from_nanos(u64::try_from(since.as_nanos())?))
}

/// The time in microseconds: a number that grows from call to call, and from run to run.
pub(super) fn seq(now: Timestamp) -> Result<Seq> {
    Seq::new(now.as_nanos() / 1_000).context("the clock is wrong")
}

pub(super) fn ensure_admitted(settled: &Settled) -> Result<()> {
    ensure!(matches!(settled.outcome, Outcome::Admitted { .. }), "refused: {:?}", settled.outcome);
    Ok(())
}

pub(super) struct OurCaller {
    ours: Ours,
    meters: Meters,
    clock: Clock,
    next: usize,
}

impl Caller for OurCaller {
    async fn call(&mut self) -> Result<u64> {
        self.next = (self.next + 1) % self.ours.homes.len();
        let (home, now) = (self.ours.homes[self.next], now(&self.clock)?);
        let plan = self.ours.plan.tariff.plan(&request(home, now));
        let call = HomeCall {
            home,
            seq: seq(now)?,
            asks: &[Ask { plan: &plan, holder: NODE, name: None, hold: None }],
        };
        let settled = self.meters.call(&call).await?;
        settled.iter().try_for_each(ensure_admitted)?;
        Ok(settled.len() as u64)
    }
}

/// `PING` over a link like ours.
pub(super) struct Ping(Link);

impl Ping {
    pub(super) async fn new(server: SocketAddr) -> Result<Self> {
        Ok(Self(link(server).await?))
    }
}

impl Caller for Ping {
    async fn call(&mut self) -> Result<u64> {
        let pong: String = self.0.query(&redis::cmd("PING")).await?;
        ensure!(pong == "PONG", "the server answered {pong}");
        Ok(1)
    }
}
