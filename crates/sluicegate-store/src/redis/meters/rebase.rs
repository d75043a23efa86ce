//! Setting meters right: their overage by the ledger and not by what was used, and periods that have not begun.

use sluicegate_core::plan::{Charge, ChargePlan};
use sluicegate_core::time::Timestamp;
use tokio::time::Instant;

use super::{CallError, Meters, READS_WITHIN, ROUNDS_MAX};
use crate::redis::driver::cmd;
use crate::redis::wire::HOME_VERSION_MANY;
use crate::redis::wire::call::{home_key, many_key};
use crate::redis::wire::carry::{forget_ahead, forget_field_ahead, rebase, rebase_field};
use crate::redis::wire::limit::WireLimit;

/// Puts a home in the place of another, if nobody wrote meanwhile. It keeps its length, and lives as long.
const REPLACE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
                       redis.call('SETRANGE', KEYS[1], 0, ARGV[2]) return 1";
/// The same with a field of a home with many meters.
const REPLACE_FIELD: &str = "if redis.call('HGET', KEYS[1], ARGV[3]) ~= ARGV[1] then return 0 end \
                             redis.call('HSET', KEYS[1], ARGV[3], ARGV[2]) return 1";

impl Meters {
    /// Has the overage of the billed quota of a plan, which was settled under the same limits before, be so much in the
    /// current period. It goes on from what is used now.
    pub async fn set_overage(&self, plan: &ChargePlan<'_>, overage: u64) -> Result<(), CallError> {
        let Some(charge) = plan.charges().iter().find(|charge| charge.limit.included().is_some()) else {
            return Ok(());
        };
        let key = home_key(plan.home);
        for _ in 0..ROUNDS_MAX {
            let expires = Instant::now() + READS_WITHIN;
            let home: Option<Vec<u8>> = self.link.query_before(cmd("GET").arg(&key), expires).await?;
            let Some(home) = home else { return Ok(()) };
            let now = self.server_time().await?;
            let done = if home.first() == Some(&HOME_VERSION_MANY) {
                self.rebase_in_hash(plan, charge, overage, now).await?
            } else {
                let rebased =
                    rebase(&home, charge, overage, now)?.filter(|rebased| rebased.len() == home.len());
                self.replace(REPLACE, &key, &home, rebased, &[]).await?
            };
            if done {
                return Ok(());
            }
        }
        Err(CallError::Contended)
    }

    /// [`Meters::set_overage`] for a home with many meters. Says whether it is done.
    async fn rebase_in_hash(
        &self,
        plan: &ChargePlan<'_>,
        charge: &Charge<'_>,
        overage: u64,
        now: Timestamp,
    ) -> Result<bool, CallError> {
        let (key, id) = (many_key(plan.home), WireLimit::new(charge).id);
        let Some(field) = self.field(&key, &id).await? else { return Ok(true) };
        let rebased = rebase_field(&field, charge, overage, now)?;
        self.replace(REPLACE_FIELD, &key, &field, rebased, &id).await
    }

    /// Empties the meters of a plan whose period begins after `latest`: a clock that was followed was wrong.
    pub async fn forget_ahead_of(&self, plan: &ChargePlan<'_>, latest: Timestamp) -> Result<(), CallError> {
        let key = home_key(plan.home);
        for _ in 0..ROUNDS_MAX {
            let expires = Instant::now() + READS_WITHIN;
            let home: Option<Vec<u8>> = self.link.query_before(cmd("GET").arg(&key), expires).await?;
            let Some(home) = home else { return Ok(()) };
            let done = if home.first() == Some(&HOME_VERSION_MANY) {
                self.forget_in_hash(plan, latest).await?
            } else {
                let emptied = forget_ahead(&home, plan.charges(), latest)?;
                self.replace(REPLACE, &key, &home, emptied, &[]).await?
            };
            if done {
                return Ok(());
            }
        }
        Err(CallError::Contended)
    }

    async fn forget_in_hash(&self, plan: &ChargePlan<'_>, latest: Timestamp) -> Result<bool, CallError> {
        let key = many_key(plan.home);
        let mut done = true;
        for charge in plan.charges() {
            let id = WireLimit::new(charge).id;
            if let Some(field) = self.field(&key, &id).await? {
                let emptied = forget_field_ahead(&field, charge, latest)?;
                done &= self.replace(REPLACE_FIELD, &key, &field, emptied, &id).await?;
            }
        }
        Ok(done)
    }

    async fn field(&self, key: &[u8], id: &[u8]) -> Result<Option<Vec<u8>>, CallError> {
        let mut asked = cmd("HGET");
        asked.arg(key).arg(id);
        Ok(self.link.query_before(&asked, Instant::now() + READS_WITHIN).await?)
    }

    /// Puts `new` in the place of `old`. Says whether it is there: not if another node wrote meanwhile.
    async fn replace(
        &self,
        script: &str,
        key: &[u8],
        old: &[u8],
        new: Option<Vec<u8>>,
        field: &[u8],
    ) -> Result<bool, CallError> {
        let Some(new) = new.filter(|new| new != old) else { return Ok(true) };
        let mut replace = cmd("EVAL");
        replace.arg(script).arg(1).arg(key).arg(old).arg(&new).arg(field);
        let replaced: u64 = self.link.query_before(&replace, Instant::now() + READS_WITHIN).await?;
        Ok(replaced == 1)
    }
}
