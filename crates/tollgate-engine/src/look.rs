//! Looking at an account's limits without being a request.

use std::num::NonZeroU32;

use tollgate_core::limit::Per;
use tollgate_core::limit_now::LimitNow;
use tollgate_core::plan::Mode;
use tollgate_core::rule::Amount;
use tollgate_core::rule::concurrency::SlotId;
use tollgate_core::settle::Readings;
use tollgate_core::tariff::{Charges, Request};
use tollgate_core::time::Timestamp;
use tollgate_store::directory::Account;

use crate::engine::Engine;

/// What one limit of an account says now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountLimit {
    /// The number of the key whose own meter it is; nothing where all keys share it.
    pub key: Option<NonZeroU32>,
    /// What it says.
    pub now: LimitNow,
}

impl Engine {
    /// Every limit of an account now: once where its keys share a meter, once for each of `keys` where they do not.
    pub fn limits_of(&self, account: &Account, keys: &[NonZeroU32], now: Timestamp) -> Vec<AccountLimit> {
        let standing = account.standing.load();
        let Some(plan) = self.snapshot.load().plan_of(&standing, &self.meters, &self.names, &self.counters)
        else {
            return Vec::new();
        };
        let look = |key: Option<NonZeroU32>, wanted: fn(Per) -> bool| {
            let request = Request {
                home: account.home,
                key,
                route: None,
                cost: Amount::ONE,
                now,
                mode: Mode::Peek,
                which: Charges::All,
                slot: SlotId(0),
            };
            let charges = plan.tariff.plan_of_all(&request);
            let mut readings = Readings::new();
            self.meters.settle(&charges, &mut readings);
            let pers: Vec<Per> = charges.charges().iter().map(|charge| charge.limit.per).collect();
            let lines = LimitNow::all(&charges, &readings).into_iter().zip(pers);
            lines.filter(move |(_, per)| wanted(*per)).map(move |(now, _)| AccountLimit { key, now })
        };
        if keys.is_empty() {
            // What a first key would have.
            return look(None, |_| true).collect();
        }
        let shared = look(None, |per| per == Per::Account);
        shared.chain(keys.iter().flat_map(|key| look(Some(*key), |per| per != Per::Account))).collect()
    }
}
