//! Looking at an account's limits without being a request.

use std::num::NonZeroU32;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::{Axis, Per};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::{Account, AccountRecord, Standing};
use sluicegate_store::redis::Away;

use crate::engine::Engine;

/// What one limit of an account says now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountLimit {
    /// The tagged number of the key whose own meter it is; nothing where all keys share it, and [`KeyEnv::TEST_KEYS`]
    /// where all test keys do.
    pub key: Option<NonZeroU32>,
    /// What it says.
    pub now: LimitNow,
}

/// Looks at every meter that a caller has, whatever the route.
pub(crate) fn look_everywhere(home: HomeId, key: Option<NonZeroU32>, now: Timestamp) -> Request {
    Request {
        home,
        key,
        route: None,
        cost: Amount::ONE,
        now,
        mode: Mode::Peek,
        which: Charges::Everywhere,
        slot: SlotId(0),
    }
}

impl Engine {
    /// Every limit of an account now: once where its keys share a meter, once for each of `keys` where they do not.
    pub async fn limits_of(
        &self,
        account: &Account,
        keys: &[NonZeroU32],
        now: Timestamp,
    ) -> Result<Vec<AccountLimit>, Away> {
        let policy = self.snapshot.load_full();
        let plan = policy.plan_of(&account.standing.load(), &self.meters, &self.names, &self.counters);
        let Some(plan) = plan else { return Ok(Vec::new()) };
        self.limits_by(&plan, account, keys, now).await
    }

    /// What every limit of an account would say now if its tier were that of `record`, with all that was used so far.
    /// Nothing is changed or stored: neither the account nor a meter, nor a name or a limit.
    pub async fn limits_under(
        &self,
        record: &AccountRecord,
        account: &Account,
        keys: &[NonZeroU32],
        now: Timestamp,
    ) -> Result<Vec<AccountLimit>, Away> {
        let standing = Standing {
            tier: record.tier.clone(),
            custom: record.custom.as_ref().map(|body| body.as_str().into()),
            calendar: account.standing.load().calendar.clone(),
            memo: ArcSwapOption::empty(),
        };
        let policy = self.snapshot.load_full();
        let Some(plan) = policy.preview(&standing, &self.meters, &self.names) else {
            return Ok(Vec::new());
        };
        self.limits_by(&Arc::new(plan), account, keys, now).await
    }

    async fn limits_by(
        &self,
        plan: &Arc<Plan>,
        account: &Account,
        keys: &[NonZeroU32],
        now: Timestamp,
    ) -> Result<Vec<AccountLimit>, Away> {
        let policy = self.snapshot.load_full();
        if keys.is_empty() {
            // What a first key would have.
            return self.look(plan, account, None, now, |_| true).await;
        }
        let shared: fn(Per) -> bool = |per| per == Per::Account;
        let mut limits = self.look(plan, account, None, now, shared).await?;
        if keys.iter().any(|key| KeyEnv::of_tagged(*key) == KeyEnv::Test) {
            // Only quotas of test keys are apart.
            let test = self.look(plan, account, Some(KeyEnv::TEST_KEYS), now, shared).await?;
            limits.extend(test.into_iter().filter(|limit| limit.now.axis == Axis::Quota));
        }
        for key in keys {
            let plan = self.plan_with_known_key(&policy, Arc::clone(plan), account.serial, Some(*key));
            limits.extend(self.look(&plan, account, Some(*key), now, |per| per != Per::Account).await?);
        }
        Ok(limits)
    }

    async fn look(
        &self,
        plan: &Arc<Plan>,
        account: &Account,
        key: Option<NonZeroU32>,
        now: Timestamp,
        wanted: fn(Per) -> bool,
    ) -> Result<Vec<AccountLimit>, Away> {
        let request = look_everywhere(account.home, key, now);
        let limits = match &self.shared {
            None => {
                let charges = plan.tariff.plan(&request);
                let mut readings = Readings::new();
                self.meters.settle(&charges, &mut readings);
                LimitNow::all(&charges, &readings)
            }
            Some(shared) => shared.look(plan, request, None).await?,
        };
        let charges = plan.tariff.plan(&request);
        let pers = charges.charges().iter().map(|charge| charge.limit.per);
        let limits = limits.into_iter().zip(pers).filter(|(_, per)| wanted(*per));
        Ok(limits.map(|(now, _)| AccountLimit { key, now }).collect())
    }
}
