//! What the store has to be told later: what was used while it was away, and what a request cost in the end.
//!
//! The spool is the journal. A record that is owed says so, and is settled in the store under its position, which the
//! store takes once: neither a lost answer nor a crash settles it twice.
//!
//! By how much the overage changes, only the store can say. Another record says so, once: the store remembers its last
//! answer for a home, so this record is on disk before the home is asked again, and before the position of the journal
//! moves on. At a start it is read which of them are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::plan::{ChargePlan, HomeId};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Position, ReadError, Record};
use sluicegate_store::redis::{
    Ask, Away, CallError, HomeCall, Meters, NameUse, NodeId, QueryError, RequestName, Seq,
};
use tokio::sync::Notify;

use super::Shared;
use crate::engine::Engine;
use crate::settlement::{charges_of, mode_of};
use crate::thresholds::Payer;

/// The most records that are read ahead.
const READ_AHEAD: usize = 1_024;
/// How often the journal is looked at when nobody says that there is something new.
const ANYWAY: Duration = Duration::from_secs(10);
/// How long it is waited for records that are on their way to the disk.
const FLUSH: Duration = Duration::from_millis(20);
/// How long it is waited after a store that was away.
const PAUSE: Duration = Duration::from_millis(250);
/// Where in the database it is noted how far the journal is settled.
const SETTLED: &str = "journal";

/// The journal of one node.
pub(crate) struct Journal {
    meters: Meters,
    node: NodeId,
    news: Arc<Notify>,
}

impl Journal {
    pub(super) fn new(meters: Meters, node: NodeId) -> Self {
        Self { meters, node, news: Arc::default() }
    }

    /// Whom to tell that there is something new.
    pub(super) fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }

    /// What time it is in the store.
    pub(crate) async fn server_time(&self) -> Result<Timestamp, QueryError> {
        self.meters.server_time().await
    }

    /// Has the overage of the billed quota of a plan be so much.
    pub(crate) async fn set_overage(&self, plan: &ChargePlan<'_>, overage: u64) -> Result<(), Away> {
        Ok(self.meters.set_overage(plan, overage).await?)
    }

    /// Empties the meters of a plan that are in a period which begins after `latest`.
    pub(crate) async fn forget_ahead_of(&self, plan: &ChargePlan<'_>, latest: Timestamp) -> Result<(), Away> {
        Ok(self.meters.forget_ahead_of(plan, latest).await?)
    }

    /// There is something new.
    pub(crate) fn wake(&self) {
        self.news.notify_one();
    }
}

/// What records say of the overage of those that were owed.
#[derive(Default)]
struct Said {
    /// The records whose overage is said already: a process before this one did.
    known: BTreeSet<Position>,
    /// By home, the last record that says so and may not be on disk yet.
    pending: BTreeMap<HomeId, Position>,
    /// The last of all.
    last: Option<Position>,
}

impl Engine {
    /// Tells the store what it does not know yet, for as long as this is polled. Nothing to do without a shared store.
    pub async fn keep_journal(&self) {
        let Some(shared) = &self.shared else { return };
        self.undo_lost(shared).await;
        let mut next = self.journal_begins();
        let mut said = Said::default();
        while let Err(error) =
            self.read_said(next, &mut said).and_then(|()| self.read_announced(shared, next))
        {
            tracing::error!("the journal cannot be read, and is tried again: {error}");
            tokio::time::sleep(PAUSE).await;
        }
        loop {
            self.record_undone(shared);
            match self.owed_from(next) {
                Ok((owed, until)) => {
                    for (position, record) in &owed {
                        self.settle_and_say(shared, *position, record, &mut said).await;
                        shared.in_force.pass(Position(position.0 + 1));
                    }
                    self.on_disk(said.last.take()).await;
                    said.pending.clear();
                    let all = owed.len() < READ_AHEAD;
                    next =
                        if all { until } else { owed.last().map_or(until, |(last, _)| Position(last.0 + 1)) };
                    // If it is lost, some are settled again, which the store ignores.
                    let needed = [shared.claiming.first(), shared.lost.first(&shared.homes)];
                    let settled = needed.into_iter().flatten().fold(next, Position::min);
                    shared.in_force.pass(next);
                    drop(self.database.set_meta(SETTLED, settled.0.to_be_bytes().to_vec()));
                    if !all {
                        continue;
                    }
                    if self.spool.tail() > until {
                        // What was just written is on disk in a moment, or the flush fails.
                        let _ = tokio::time::timeout(FLUSH, shared.journal.news.notified()).await;
                        continue;
                    }
                }
                Err(error) => tracing::error!("the journal cannot be read, and is tried again: {error}"),
            }
            let _ = tokio::time::timeout(ANYWAY, shared.journal.news.notified()).await;
        }
    }

    /// Up to where everything that was owed is settled.
    pub(crate) fn journal_begins(&self) -> Position {
        let noted = self.database.meta(SETTLED).ok().flatten();
        let noted = noted.and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
        Position(noted.unwrap_or(0)).max(self.spool.first())
    }

    /// Some records that are owed, and up to where there are no others.
    fn owed_from(&self, from: Position) -> Result<(Vec<(Position, Record)>, Position), ReadError> {
        // Not further: what is not on disk yet may be lost, and its position be another record's.
        let until = self.spool.durable();
        let mut owed = Vec::new();
        if until > from {
            self.spool.read(from, |position, record| {
                let is_owed = record.flags.contains(Flags::OWED) || record.flags.contains(Flags::UNNAMED);
                if position < until && owed.len() < READ_AHEAD && is_owed {
                    owed.push((position, *record));
                }
            })?;
        }
        Ok((owed, until.max(from)))
    }

    /// Finds out of which records the overage is said already.
    fn read_said(&self, from: Position, said: &mut Said) -> Result<(), ReadError> {
        said.known.clear();
        self.spool.read(from, |_, record| said.known.extend(record.settles())).map(drop)
    }

    /// Settles one record, and says by how much its overage changed.
    async fn settle_and_say(&self, shared: &Shared, position: Position, record: &Record, said: &mut Said) {
        self.on_disk(said.pending.remove(&record.home)).await;
        // What is undone changes the overage without a record: it must not come between.
        while shared.homes.is_in_doubt(record.home) {
            tokio::time::sleep(PAUSE).await;
        }
        let Some((change, now)) = self.settle_owed(shared, position, record).await else { return };
        if said.known.remove(&position) {
            return;
        }
        let (more, less) = (change.saturating_sub(record.overage), record.overage.saturating_sub(change));
        let (overage, kind) = match record.kind {
            Kind::Charge | Kind::Correction if more > 0 => (more, Kind::Correction),
            Kind::Refund if more > 0 => (more, Kind::Refund),
            Kind::Charge | Kind::Correction => (less, Kind::Refund),
            Kind::Refund => (less, Kind::Correction),
        };
        if overage > 0 {
            let room = loop {
                match self.spool.reserve() {
                    Ok(room) => break room,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            };
            let at = room.append(&record.settling(position, kind, overage, now));
            said.pending.insert(record.home, at);
            said.last = Some(at);
        }
    }

    /// Returns when a record is on disk, however long that takes.
    async fn on_disk(&self, position: Option<Position>) {
        let Some(position) = position else { return };
        while self.spool.wait_durable(position).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Settles one record, however long that takes. Says by how much the overage changed, and when; nothing if the
    /// record was settled before, and another of its home since.
    async fn settle_owed(
        &self,
        shared: &Shared,
        position: Position,
        record: &Record,
    ) -> Option<(u64, Timestamp)> {
        let seq = Seq::new(position.0 + 1)?;
        loop {
            let (sold, request) = self.plan_of_record(record).await?;
            let plan = if record.flags.contains(Flags::OWED) {
                sold.tariff.plan(&request)
            } else {
                // It was within the share of this node. Only its name is to be known to the others.
                ChargePlan::new(request.home, request.now, request.mode, request.slot)
            };
            let name = record.name().map(|name| RequestName {
                key: name.key,
                request: name.request,
                decision: record.decision,
                since: Some(record.at),
                // A charge becomes known, whose attempt has ended nobody knows how; a refund is forgotten.
                used: if record.kind == Kind::Refund { NameUse::Refunded } else { NameUse::Vouched },
            });
            let asks = [Ask { plan: &plan, holder: shared.journal.node, name, hold: None }];
            match shared.journal.meters.call(&HomeCall { home: record.home, seq, asks: &asks }).await {
                Ok(settled) => {
                    if let Some(name) = record.name() {
                        let mut names = self.idempotency.hold(record.home, name.key);
                        names.set_only_local(record.home, name.key, false);
                    }
                    let settled = settled.first().filter(|_| record.flags.contains(Flags::OWED))?;
                    if request.mode.is_forced() {
                        let payer = Payer { home: record.home, account: record.account, key: record.key };
                        let then = sold.tariff.plan(&Request { now: settled.now, ..request });
                        self.thresholds.watch(&then, &settled.readings, payer, &sold);
                    }
                    let Outcome::Admitted { overage } = settled.outcome else { return None };
                    return Some((overage, settled.now));
                }
                // A number that was used is a record that was settled.
                Err(CallError::Late(_)) => return None,
                Err(error @ (CallError::Mixed | CallError::TooLarge)) => {
                    tracing::error!(
                        position = position.0,
                        "a record cannot be settled in the store: {error}"
                    );
                    return None;
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// The plan of the account or client of a record, however long that takes. Nothing if its account was never there.
    pub(super) async fn plan_of_payer(&self, record: &Record) -> Option<Arc<Plan>> {
        let policy = self.snapshot.load_full();
        if record.account == 0 {
            let sold = policy.client_plan_of_number(record.tier, &self.meters, &self.names)?;
            return Some(self.client_plan_of_record(&policy, sold, record.flags));
        }
        let standing = loop {
            match self.standing_anywhere(record.account).await {
                Ok(standing) => break standing?,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        };
        let plan = policy.plan_of(&standing, &self.meters, &self.names, &self.counters)?;
        let key = record.tagged_key_number();
        if record.flags.contains(Flags::KEY_LIMITS) {
            while self.learn_limited_key(record.account, record.key, key).await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Some(self.plan_with_known_key(&policy, plan, record.account, key))
    }

    /// What a record owes by the limits in force. Nothing if its account was never there.
    async fn plan_of_record(&self, record: &Record) -> Option<(Arc<Plan>, Request)> {
        let plan = self.plan_of_payer(record).await?;
        let policy = self.snapshot.load_full();
        // What was used while the store was away was within the rates of that time.
        let degraded = record.flags.contains(Flags::DEGRADED);
        let which = match charges_of(record, &plan.tariff) {
            Charges::AmountsBut(skipped) if degraded => Charges::AmountsBut(skipped.and(plan.tariff.rates())),
            which => which,
        };
        let request = Request {
            home: record.home,
            key: record.tagged_key_number(),
            route: policy.route_of_number(record.route),
            cost: Amount::new(record.cost)?,
            now: self.now(),
            mode: mode_of(record),
            which,
            slot: SlotId(0),
        };
        Some((plan, request))
    }
}
