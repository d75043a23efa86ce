//! Setting the overage of a meter right: by the ledger, and not by what was used.

use sluicegate_core::plan::ChargePlan;
use tokio::time::Instant;

use super::{CallError, Meters, READS_WITHIN, ROUNDS_MAX};
use crate::redis::driver::cmd;
use crate::redis::wire::call::home_key;
use crate::redis::wire::carry::rebase;

/// Puts a home in the place of another, if nobody wrote meanwhile. It keeps its length, and lives as long.
const REPLACE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
                       redis.call('SETRANGE', KEYS[1], 0, ARGV[2]) return 1";

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
            let rebased = rebase(&home, charge, overage, now)?;
            let Some(rebased) = rebased.filter(|rebased| rebased.len() == home.len() && *rebased != home)
            else {
                return Ok(());
            };
            let mut replace = cmd("EVAL");
            replace.arg(REPLACE).arg(1).arg(&key).arg(&home).arg(&rebased);
            let replaced: u64 = self.link.query_before(&replace, expires).await?;
            if replaced == 1 {
                return Ok(());
            }
        }
        Err(CallError::Contended)
    }
}
