//! Ours: a rate and a quota of an account, settled by one call of the store; for a hot account, many in one call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow, ensure};
use tollgate_core::plan::{ChargePlan, HomeId};
use tollgate_core::settle::Outcome;
use tollgate_core::time::Timestamp;
use tollgate_store::hash::HomeHasher;
use tollgate_store::redis::{Address, Ask, HomeCall, Link, LinkOptions, Meters, NodeId, Seq};

use super::limits::Limits;
use super::load::Caller;
use super::{ACCOUNTS, CONNECTIONS};
use crate::timing::{Clock, Now as _};
use crate::workload::write_key;

/// How long the first connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// No test of deadlines: a neighbour on the machine must not break off a round.
const DEADLINE: Duration = Duration::from_secs(5);

const NODE: NodeId = NodeId(7);

/// The store, and who asks it.
#[derive(Clone)]
pub(super) struct Ours {
    server: SocketAddr,
    limits: Arc<Limits>,
    homes: Arc<Vec<HomeId>>,
}

impl Ours {
    pub(super) fn new(server: SocketAddr) -> Result<Self> {
        let hasher = HomeHasher::new([7; 16]);
        let home = |account| {
            let mut key = String::new();
            write_key(account, &mut key);
            hasher.of_name(key.as_bytes())
        };
        let homes = Arc::new((0..ACCOUNTS).map(home).collect());
        Ok(Self { server, limits: Arc::new(Limits::generous()?), homes })
    }

    /// Callers that share the accounts, with a connection each.
    pub(super) async fn callers(&self) -> Result<Vec<OurCaller>> {
        let mut callers = Vec::with_capacity(CONNECTIONS);
        for index in 0..CONNECTIONS {
            let next = index * self.homes.len() / CONNECTIONS;
            callers.push(OurCaller { next, ..self.caller(&self.homes, 1).await? });
        }
        Ok(callers)
    }

    /// One account that everybody uses: whoever comes while a call is under way is in the next one.
    pub(super) async fn hot(&self) -> Result<Vec<OurCaller>> {
        let home = Arc::new(self.homes[..1].to_vec());
        Ok(vec![self.caller(&home, CONNECTIONS).await?])
    }

    async fn caller(&self, homes: &Arc<Vec<HomeId>>, at_once: usize) -> Result<OurCaller> {
        let link = link(self.server).await?;
        let (limits, homes, clock) = (Arc::clone(&self.limits), Arc::clone(homes), Clock::new());
        Ok(OurCaller { meters: Meters::new(link, NODE), limits, homes, at_once, clock, next: 0 })
    }
}

async fn link(server: SocketAddr) -> Result<Link> {
    let address = Address::parse(&format!("redis://{server}")).map_err(|bad| anyhow!("{bad}"))?;
    let link = Link::open(&address, &LinkOptions { deadline: DEADLINE, ..LinkOptions::default() })?;
    link.ready(PATIENCE).await?;
    Ok(link)
}

pub(super) struct OurCaller {
    meters: Meters,
    limits: Arc<Limits>,
    homes: Arc<Vec<HomeId>>,
    /// Plans of a call.
    at_once: usize,
    clock: Clock,
    next: usize,
}

impl Caller for OurCaller {
    async fn call(&mut self) -> Result<u64> {
        self.next = (self.next + 1) % self.homes.len();
        let home = self.homes[self.next];
        let since = SystemTime::read(&self.clock).duration_since(SystemTime::UNIX_EPOCH)?;
        let nanos = u64::try_from(since.as_nanos())?;
        let plan = |_| self.limits.plan(home, Timestamp::from_nanos(nanos));
        let plans: Vec<ChargePlan<'_>> = (0..self.at_once).map(plan).collect();
        let asks: Vec<Ask<'_>> = plans.iter().map(|plan| Ask { plan, holder: NODE }).collect();
        // The time in microseconds: it grows from call to call and from run to run.
        let seq = Seq::new(nanos / 1_000).ok_or_else(|| anyhow!("the clock is wrong"))?;
        let settled = self.meters.call(&HomeCall { home, seq, asks: &asks }).await?;
        for it in &settled {
            ensure!(matches!(it.outcome, Outcome::Admitted { .. }), "refused: {:?}", it.outcome);
        }
        Ok(settled.len() as u64)
    }
}

/// `PING` over a link like ours.
pub(super) struct Ping(Link);

impl Ping {
    pub(super) async fn over_link(server: SocketAddr) -> Result<Self> {
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
