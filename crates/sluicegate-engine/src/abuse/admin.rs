//! What people ask of the signals: who is blocked, how a client stands, and that it be forgiven.

use std::sync::Arc;

use sluicegate_core::block::{Block, Caller};
use sluicegate_core::limit::LimitName;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::{Blocks, Bucket, Reputation, TierName};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::redis::Away;

use crate::abuse::{BlockError, Squeezed};
use crate::engine::Engine;
use crate::identify::ClientId;

/// More than any meter of conduct holds.
const ALL_OF_IT: u64 = Blocks::AFTER_MAX as u64;

/// How a client stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientNow {
    /// The tier of callers without a key.
    pub tier: TierName,
    /// Its reputation, if one is kept.
    pub reputation: Option<ReputationNow>,
    /// Its refusals, if they are counted.
    pub strikes: Option<StrikesNow>,
    /// Its block, if it is blocked.
    pub block: Option<Block>,
    /// What is known of the address that it came from last; nothing where pressure is not watched, or it was not seen
    /// lately on this node.
    pub pressure: Option<PressureNow>,
    /// What its limits say.
    pub limits: Vec<LimitNow>,
}

/// A reputation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReputationNow {
    /// The points that are left.
    pub score: u8,
    /// How bad that is.
    pub bucket: Bucket,
}

/// The pressure on the address of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PressureNow {
    /// The keyed hash of the address.
    pub address: u64,
    /// What is known of it, if it is squeezed.
    pub squeezed: Option<Squeezed>,
}

/// Refusals that count towards a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrikesNow {
    /// How many there were lately.
    pub count: u64,
    /// How many it takes.
    pub limit: u64,
}

impl Engine {
    /// The blocks behind `after`, in the order of callers, `max` of them at the most.
    pub fn blocks(&self, after: Option<Caller>, now: Timestamp, max: usize) -> Vec<Block> {
        self.watch.blocks.list(after, now, max)
    }

    /// The block of a caller, if it is blocked.
    pub fn block_of(&self, caller: Caller, now: Timestamp) -> Option<Block> {
        self.watch.blocks.find(caller, now)
    }

    /// Blocks a caller on every node, or on none.
    pub async fn block(&self, block: Block, now: Timestamp) -> Result<Block, BlockError> {
        self.watch.blocks.put(block, now).await
    }

    /// Lifts the block of a caller on every node, or on none. What it was, if there was one.
    pub async fn unblock(&self, caller: Caller, now: Timestamp) -> Result<Option<Block>, BlockError> {
        self.watch.blocks.lift(caller, now).await
    }

    /// How a client stands. Nothing where callers without a key are not let in.
    pub async fn client(&self, client: ClientId, now: Timestamp) -> Result<Option<ClientNow>, Away> {
        let Some(plan) = self.anonymous_plan() else { return Ok(None) };
        let look = request(client.0, Mode::Peek, Amount::ONE, now);
        let conduct = self.settle_plainly(&plan, Request { which: Charges::Conduct, ..look }).await?;
        let limits = self.settle_plainly(&plan, Request { which: Charges::Everywhere, ..look }).await?;
        let of = |name: &str| conduct.iter().find(|limit| limit.name.as_str() == name);
        let reputation = of(LimitName::REPUTATION).map(|limit| {
            let score = u8::try_from(limit.remaining).unwrap_or(Reputation::POINTS_MAX);
            ReputationNow { score, bucket: Reputation::bucket(score) }
        });
        let strikes =
            of(LimitName::STRIKES).map(|limit| StrikesNow { count: limit.used, limit: limit.limit });
        let block = self.block_of(Caller::client(client.0), now);
        let pressure = self.pressure_on(client, now);
        Ok(Some(ClientNow { tier: plan.name.clone(), reputation, strikes, block, pressure, limits }))
    }

    /// The addresses behind `after` that are squeezed on this node, `max` of them at the most.
    pub fn squeezed(&self, after: Option<u64>, now: Timestamp, max: usize) -> Vec<Squeezed> {
        self.watch.pressure.list(after, now, max)
    }

    fn pressure_on(&self, client: ClientId, now: Timestamp) -> Option<PressureNow> {
        self.snapshot.load().policy().pressure?;
        let address = self.watch.origins.of(client.0)?;
        Some(PressureNow { address, squeezed: self.watch.pressure.find(address, now) })
    }

    /// Gives a client its reputation back, and forgets its refusals.
    pub async fn forgive(&self, client: ClientId, now: Timestamp) -> Result<(), Away> {
        let Some(plan) = self.anonymous_plan() else { return Ok(()) };
        let within = self
            .snapshot
            .load()
            .policy()
            .blocks
            .map_or(Nanos::ZERO, |blocks| Nanos(blocks.within.as_nanos()));
        // Refusals are counted by windows, of which the one before still counts.
        let before = Timestamp::from_nanos(now.as_nanos().saturating_sub(within.0));
        for charged_at in [now, before] {
            let cost = Amount::new(ALL_OF_IT).unwrap_or(Amount::ONE);
            let give = request(client.0, Mode::Refund { charged_at, reserved: cost }, cost, now);
            self.settle_plainly(&plan, Request { which: Charges::Conduct, ..give }).await?;
        }
        self.watch.touched.add(client.0);
        Ok(())
    }

    fn anonymous_plan(&self) -> Option<Arc<Plan>> {
        self.snapshot.load().anonymous_plan(&self.meters, &self.names)
    }

    /// Settles it without being a request, and says what the limits say then.
    async fn settle_plainly(&self, plan: &Arc<Plan>, request: Request) -> Result<Vec<LimitNow>, Away> {
        match &self.shared {
            None => {
                let charges = plan.tariff.plan(&request);
                let mut readings = Readings::new();
                self.meters.settle(&charges, &mut readings);
                Ok(LimitNow::all(&charges, &readings))
            }
            Some(shared) => shared.look(plan, request, None).await,
        }
    }
}

fn request(home: HomeId, mode: Mode, cost: Amount, now: Timestamp) -> Request {
    Request { home, key: None, route: None, cost, now, mode, which: Charges::Conduct, slot: SlotId(0) }
}
