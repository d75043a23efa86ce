//! One account that everybody uses, on one node: whoever comes while a call is under way shares the next one.

use anyhow::Result;
use sluicegate_core::plan::HomeId;
use sluicegate_store::redis::{Homes, HomesSettings, Meters, Owed};

use super::limits::request;
use super::load::Caller;
use super::ours::{DEADLINE, NODE, Ours, ensure_admitted, link, now, seq};
use crate::timing::Clock;

impl Ours {
    /// So many callers of the first account, over one connection.
    pub(super) async fn hot(&self, callers: usize) -> Result<Vec<HotCaller>> {
        let meters = Meters::new(link(self.server).await?, NODE);
        let settings = HomesSettings { deadline: DEADLINE, ..HomesSettings::default() };
        let homes = Homes::new(meters, NODE, seq(now(&Clock::new())?)?, settings);
        let caller = |_| HotCaller {
            homes: homes.clone(),
            ours: self.clone(),
            home: self.homes[0],
            clock: Clock::new(),
        };
        Ok((0..callers).map(caller).collect())
    }
}

pub(super) struct HotCaller {
    homes: Homes,
    ours: Ours,
    home: HomeId,
    clock: Clock,
}

impl Caller for HotCaller {
    async fn call(&mut self) -> Result<u64> {
        let request = request(self.home, now(&self.clock)?);
        let owed = Owed {
            plan: self.ours.plan.clone(),
            request,
            holder: NODE,
            name: None,
            hold: None,
            billed: None,
        };
        ensure_admitted(&self.homes.settle(owed).await?)?;
        Ok(1)
    }
}
