//! Permits that services hold, at a start: which are finished, and which slots still count.
//!
//! The slots of requests that this process forwarded ended with it. Those of services are held until their leases end.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotHold;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::Record;
use sluicegate_store::database::{Database, DatabaseError, HeldRow};

use super::Replay;
use crate::finish::Finished;
use crate::ids::DecisionId;
use crate::permit::FinishedPermits;

/// What is known of permits at a start.
#[derive(Default)]
pub(super) struct LoadedPermits {
    pub(super) finished: FinishedPermits,
    held: BTreeMap<DecisionId, HeldRow>,
}

impl LoadedPermits {
    pub(super) fn from(database: &Database) -> Result<Self, DatabaseError> {
        let (finished, mut held) = (FinishedPermits::default(), BTreeMap::new());
        let watermark = database.load_permits(
            |row| {
                let answer = Finished { reserved: row.reserved, settled: row.settled };
                finished.hold(DecisionId(row.decision)).finish(answer, row.at);
            },
            |row| {
                held.insert(DecisionId(row.decision), row);
            },
        )?;
        finished.raise_watermark(watermark);
        Ok(Self { finished, held })
    }

    /// Takes in what a record behind the checkpoint says.
    pub(super) fn count(&mut self, record: &Record) {
        let decision = DecisionId(record.decision);
        if let Some((reserved, settled)) = record.finished_locally() {
            self.finished.hold(decision).finish(Finished { reserved, settled }, record.at);
            self.held.remove(&decision);
        } else if let Some(row) = held_row(record) {
            self.held.insert(decision, row);
        }
    }
}

/// What is to be remembered of a record that says how long a slot is held.
pub(crate) fn held_row(record: &Record) -> Option<HeldRow> {
    Some(HeldRow {
        decision: record.decision,
        home: record.home.0,
        account: record.account,
        key_number: record.key_number,
        route: record.route,
        tier: record.tier,
        until: record.at.plus(record.held_for()?),
    })
}

/// Slots of one account that are held under the same limits.
type Group = (u128, u64, u32, u32, u32);

/// Holds the slots again that services hold.
pub(super) fn hold_slots(replay: &Replay<'_>, permits: &LoadedPermits, now: Timestamp) {
    let mut groups: BTreeMap<Group, Vec<SlotHold>> = BTreeMap::new();
    for (decision, row) in permits.held.iter().filter(|(_, row)| row.until > now) {
        let group = (row.home, row.account, row.key_number, row.route, row.tier);
        let hold = Some(Nanos(row.until.as_nanos() - now.as_nanos()));
        groups.entry(group).or_default().push(SlotHold { id: decision.slot().1, hold });
    }
    for ((home, account, key_number, route, tier), holds) in groups {
        let Some(plan) = replay.plan_of(account, tier, NonZeroU32::new(key_number)) else { continue };
        let request = Request {
            home: HomeId(home),
            key: NonZeroU32::new(key_number),
            route: replay.snapshot.route_of_number(route),
            cost: Amount::ONE,
            now,
            mode: Mode::Force,
            which: Charges::Slots,
            slot: holds[0].id,
        };
        replay.checkpoint.meters.renew_slots(&plan.tariff.plan(&request), &holds, || ());
    }
}
