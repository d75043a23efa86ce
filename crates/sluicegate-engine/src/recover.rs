//! Starting: the meters are the last checkpoint, and the records of the spool behind it counted again.

mod future;
mod permits;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::image::BadImage;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::Limit;
use sluicegate_core::plan::HomeId;
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::tariff::{Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{BilledPrint, Kind, Position, ReadError, Record};
use sluicegate_store::database::DatabaseError;
use sluicegate_store::directory::{Directory, Standing};
use sluicegate_store::meters::{Limits, MeterTable};

use crate::clock_keeping::{Leapt, SetBack, TimeMark, confirmed_time};
use crate::engine::{Counters, Engine, EngineParts, Found};
use crate::idempotency::{IdempotencyTable, KnownName};
use crate::ids::DecisionId;
use crate::names::Names;
use crate::record::billed_print;
use crate::save::Saved;
use crate::settlement::{charges_of, mode_of};
use crate::snapshot::{PolicySnapshot, ReloadError};
use crate::sold::standing_of;
use crate::watch::{PlanCache, Size};
use permits::LoadedPermits;
pub(crate) use permits::held_row;

/// How far recovery has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Records counted so far.
    pub done: u64,
    /// Records to count.
    pub total: u64,
}

/// How often progress is told, in records.
const PROGRESS_EVERY: u64 = 65_536;

/// What recovery came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// Homes whose meters were in the checkpoint.
    pub homes: usize,
    /// Records of the spool that were counted again.
    pub records: u64,
    /// Slots that hold no whole record: whoever wrote them was cut off, and was never answered.
    pub torn: u64,
    /// Meters of the checkpoint that could not be read, and start anew.
    pub unreadable: usize,
}

/// Why an engine did not start.
#[derive(Debug)]
pub enum RecoverError {
    /// The database could not be read.
    Database(DatabaseError),
    /// The limits of the checkpoint could not be read.
    Limits(BadImage),
    /// The spool could not be read.
    Spool(ReadError),
    /// The spool ends before the checkpoint: segments are missing.
    Behind {
        /// Where it ends.
        tail: u64,
        /// Up to where the checkpoint has counted.
        checkpoint: u64,
    },
    /// The policy could not be put into force.
    Policy(ReloadError),
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => write!(f, "the database could not be read: {error}"),
            Self::Limits(error) => write!(f, "the limits of the last checkpoint could not be read: {error}"),
            Self::Spool(error) => write!(f, "the spool could not be read: {error}"),
            Self::Behind { tail, checkpoint } => write!(
                f,
                "the spool ends at record {tail}, but {checkpoint} were counted already: segments are missing; \
                 put them back, or start with an empty data directory"
            ),
            Self::Policy(error) => write!(f, "the policy cannot be put into force: {error}"),
        }
    }
}

impl std::error::Error for RecoverError {}

impl Engine {
    /// The engine, with its meters as they were when the process ended, however it did.
    pub fn open(
        parts: EngineParts,
        mut progress: impl FnMut(Progress),
    ) -> Result<(Self, Recovered), RecoverError> {
        let names = Names::open(parts.database.clone()).map_err(RecoverError::Database)?;
        let snapshot = PolicySnapshot::new(1, parts.policy.clone(), &names).map_err(RecoverError::Policy)?;
        let mut checkpoint = Loaded::from(&parts)?;
        let mut permits = LoadedPermits::from(&parts.database).map_err(RecoverError::Database)?;
        let tail = parts.spool.tail();
        if tail < checkpoint.position {
            return Err(RecoverError::Behind { tail: tail.0, checkpoint: checkpoint.position.0 });
        }
        let total = tail.0 - checkpoint.position.0;
        let mut replay = Replay {
            snapshot: &snapshot,
            names: &names,
            directory: &parts.directory,
            checkpoint: &mut checkpoint,
            counters: Counters::default(),
            latest: Timestamp::EPOCH,
            meters: if parts.shared.is_none() { Counted::Here } else { Counted::Elsewhere },
            deleted: RefCell::default(),
            sized: PlanCache::default(),
        };
        let mut done = 0;
        let from = replay.checkpoint.position;
        let report = parts.spool.read(from, |position, record| {
            replay.count(position, record);
            permits.count(record);
            done += 1;
            if done % PROGRESS_EVERY == 0 {
                progress(Progress { done, total });
            }
        });
        let report = report.map_err(RecoverError::Spool)?;
        let mut latest = replay.latest;
        if total == 0 && tail > parts.spool.first() {
            // Nothing to count again; when the last process ended, the last record still tells.
            let last = parts.spool.read(Position(tail.0 - 1), |_, record| latest = record.at);
            last.map_err(RecoverError::Spool)?;
        }
        let confirmed = confirmed_time(&parts.database).map_err(RecoverError::Database)?;
        let clock = (parts.clock)(confirmed.map_or(latest, |confirmed| latest.max(confirmed)));
        let latest_plausible = future::latest_plausible(&parts.spool, clock.now(), confirmed)?;
        let rebuilt = match latest_plausible {
            Some(at) if parts.shared.is_none() => future::rebuild(&mut replay, &parts.spool, at)?,
            _ => BTreeSet::new(),
        };
        if parts.shared.is_none() {
            permits::hold_slots(&replay, &permits, clock.now());
        }
        let recovered = Recovered {
            homes: checkpoint.homes,
            records: report.read,
            torn: report.torn,
            unreadable: checkpoint.unreadable,
        };
        let Loaded { meters, idempotency, position, limits, .. } = checkpoint;
        let ended_after = clock.now().as_nanos().saturating_sub(snapshot.blocks_memory().0);
        let blocks = parts.database.load_blocks(Timestamp::from_nanos(ended_after));
        let blocks = blocks.map_err(RecoverError::Database)?;
        let saved = Saved { position, limits };
        let time_mark = TimeMark { confirmed, latest_plausible };
        let finished = permits.finished;
        // What the store has of that time is set right when it can be asked.
        let was_ahead =
            parts.shared.is_some() && latest_plausible.is_some_and(|plausible| latest > plausible);
        let found = Found { snapshot, meters, names, idempotency, saved, blocks, time_mark, finished };
        let engine = Self::assemble(parts, found, clock);
        engine.put_clock_doubt((SetBack(was_ahead), Leapt(false)));
        engine.block_lost().map_err(RecoverError::Spool)?;
        // No record says it, so only the next checkpoint keeps it.
        rebuilt.into_iter().for_each(|home| engine.watch.touched.add(home));
        Ok((engine, recovered))
    }
}

/// The last checkpoint, in memory.
struct Loaded {
    meters: MeterTable,
    idempotency: IdempotencyTable,
    position: Position,
    limits: u32,
    homes: usize,
    unreadable: usize,
    /// Homes whose meters count further than the checkpoint as a whole.
    ahead: BTreeMap<HomeId, Position>,
}

impl Loaded {
    fn from(parts: &EngineParts) -> Result<Self, RecoverError> {
        let mut book = Vec::new();
        let mut rows = Vec::new();
        let idempotency = IdempotencyTable::default();
        let loaded = parts.database.load_checkpoint(
            |_, image| book.push(image.to_vec()),
            |row| rows.push((HomeId(row.home), Position(row.position), row.image.to_vec())),
            |row| {
                let home = HomeId(row.home);
                let known = KnownName::recovered(DecisionId(row.decision), row.request, row.at);
                idempotency.hold(home, row.key).put(home, row.key, known);
            },
        );
        let position = Position(loaded.map_err(RecoverError::Database)?);
        let limits = u32::try_from(book.len()).unwrap_or(u32::MAX);
        let meters = MeterTable::with_book(book).map_err(RecoverError::Limits)?;
        let mut unreadable = 0;
        let mut ahead = BTreeMap::new();
        for (home, counted, image) in &rows {
            match meters.restore(*home, image) {
                Ok(()) if *counted > position => drop(ahead.insert(*home, *counted)),
                Ok(()) => {}
                Err(_) => unreadable += 1,
            }
        }
        Ok(Self { meters, idempotency, position, limits, homes: rows.len() - unreadable, unreadable, ahead })
    }
}

/// Counting records again.
struct Replay<'r> {
    snapshot: &'r PolicySnapshot,
    names: &'r Names,
    directory: &'r Directory,
    checkpoint: &'r mut Loaded,
    counters: Counters,
    latest: Timestamp,
    meters: Counted,
    /// The plans of accounts that were deleted.
    deleted: RefCell<BTreeMap<u64, Option<Arc<Plan>>>>,
    /// The plans of address prefixes under pressure.
    sized: PlanCache<Size>,
}

/// Where usage is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Here,
    Elsewhere,
}

impl Replay<'_> {
    /// Whether something was recorded under the billed quota that a plan has now.
    fn limits_of(&self, record: &Record, plan: &Plan) -> Limits {
        let is_the_same = match record.billed {
            // An older version did not say.
            BilledPrint::UNKNOWN => self.sells_the_same(record.tier, plan),
            billed => billed == billed_print(plan),
        };
        if is_the_same { Limits::OfNow } else { Limits::OfThen }
    }

    /// Whether a tier includes as much as a plan before overage is billed.
    fn sells_the_same(&self, tier: u32, plan: &Plan) -> bool {
        let included = |plan: &Plan| plan.tariff.limits().find_map(Limit::included);
        let then = || self.snapshot.client_plan_of_number(tier, &self.checkpoint.meters, self.names);
        tier == plan.number || then().is_some_and(|then| included(&then) == included(plan))
    }

    fn count(&mut self, position: Position, record: &Record) {
        self.latest = self.latest.max(record.at);
        if let Some(name) = record.name() {
            let mut shard = self.checkpoint.idempotency.hold(record.home, name.key);
            let decision = DecisionId(record.decision);
            match record.kind {
                Kind::Charge => {
                    let known = KnownName::recovered(decision, name.request, record.at);
                    shard.put(record.home, name.key, known);
                }
                Kind::Refund => shard.forget(record.home, name.key, decision),
                Kind::Correction => {}
            }
        }
        if self.meters == Counted::Elsewhere {
            return;
        }
        // A home whose meters were saved after this record was written has it counted already.
        if self.checkpoint.ahead.get(&record.home).is_some_and(|counted| position < *counted) {
            return;
        }
        self.charge(record);
    }

    /// The plan of a key of an account, or of clients in this tier. An account that was deleted is billed under the
    /// plan that it had.
    fn plan_of(&self, account: u64, tier: u32, key: Option<NonZeroU32>) -> Option<Arc<Plan>> {
        let meters = &self.checkpoint.meters;
        if account == 0 {
            return self.snapshot.client_plan_of_number(tier, meters, self.names);
        }
        let plan = |standing: &Standing| self.snapshot.plan_of(standing, meters, self.names, &self.counters);
        if let Some(account) = self.directory.account_by_serial(account) {
            let plan = plan(&account.standing.load())?;
            let number = key.and_then(KeyEnv::untag);
            let key = number.and_then(|number| self.directory.limited_key(account.serial, number));
            let limited = key.and_then(|key| self.snapshot.plan_of_key(Arc::clone(&plan), &key, meters));
            return Some(limited.unwrap_or(plan));
        }
        let mut deleted = self.deleted.borrow_mut();
        let found = deleted.entry(account).or_insert_with(|| {
            let record = self.directory.account_record_here(account).ok().flatten();
            record.as_ref().and_then(standing_of).and_then(|standing| plan(&standing))
        });
        found.clone()
    }

    /// Charges the meters of a record with it.
    fn charge(&self, record: &Record) {
        let plan = self.plan_of(record.account, record.tier, record.tagged_key_number());
        let (Some(plan), Some(cost)) = (plan, Amount::new(record.cost)) else { return };
        let pressure = self.snapshot.policy().pressure;
        let plan = self.sized.recorded(plan, record.flags, pressure, &self.checkpoint.meters);
        let request = Request {
            home: record.home,
            key: record.tagged_key_number(),
            route: self.snapshot.route_of_number(record.route),
            cost,
            now: record.at,
            mode: mode_of(record),
            which: charges_of(record, &plan.tariff),
            slot: SlotId(0),
        };
        let limits = self.limits_of(record, &plan);
        let meters = &self.checkpoint.meters;
        meters.settle_recorded(&plan.tariff.plan(&request), record.overage, limits);
    }
}
