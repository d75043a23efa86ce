//! The books of a node: what was used by the hour, the proof of it, its way to object storage, and whether the meters
//! agree with it.
//!
//! Nothing here is on the way of a request. Whoever runs a node calls [`Books::tend`] every few seconds,
//! [`Books::sign`] every minute and at the end, [`Books::seal`] and [`Books::prune`] every few minutes, and
//! [`Books::check`] now and then.

mod baseline;
mod billed;
mod clock_steps;
mod compare;
mod error;
mod given_back;
mod names;
mod payer;
mod quota;
mod recount;
mod repair;
mod state;
mod store_time;
mod usage;

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::policy::LedgerSettings as PolicyLedger;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::export::Names;
use sluicegate_ledger::ledger::{OpenLedgerError, PruneError, Pruned};
use sluicegate_ledger::seal::{Destination, DestinationError, Progress, S3Access, SealError, Sealed, Sealer};
use sluicegate_ledger::usage::{Closed, Needs, Reopened, RollError, Rolled};
use sluicegate_ledger::{Ledger, LedgerSettings};
use sluicegate_store::directory::StoreError;
use sluicegate_store::identity::StoreState;
use tokio::runtime::Handle;

pub use compare::SealedComparison;
pub use error::CompareError;
pub use payer::UsagePayer;
pub use quota::{Others, QuotaCount, Said};
pub use recount::Measure;
pub use repair::Repaired;
pub use state::{BooksState, LastCheck};
pub use usage::{AskError, Asked, Which};

use crate::audit::{self, FollowError};
use crate::engine::Engine;
use baseline::Baseline;
use names::EngineNames;

/// The folder of the ledger, beside that of the spool.
pub const FOLDER: &str = "ledger";

/// The books of a node.
pub struct Books {
    engine: Arc<Engine>,
    ledger: Ledger,
    names: Arc<EngineNames>,
    /// Where sealed hours go, as the policy said when it was last asked.
    destination: Mutex<Option<Destination>>,
    last_check: Mutex<Option<LastCheck>>,
    /// What the last check has counted.
    baseline: Mutex<Option<Arc<Baseline>>>,
}

impl std::fmt::Debug for Books {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Books").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

/// Why hours were not sealed. They are tried again.
#[derive(Debug)]
pub enum SealDueError {
    /// There is no going where the policy says.
    Destination(DestinationError),
    /// Sealing failed.
    Seal(SealError),
}

impl std::fmt::Display for SealDueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Destination(error) => error.fmt(f),
            Self::Seal(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SealDueError {}

/// Why nothing was removed. It is tried again.
#[derive(Debug)]
pub enum PruneDueError {
    /// It cannot be told how long accounts with limits of their own need records.
    Directory(StoreError),
    /// Removing failed.
    Prune(PruneError),
}

impl std::fmt::Display for PruneDueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(error) => error.fmt(f),
            Self::Prune(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PruneDueError {}

impl Books {
    /// Opens the books of an engine, in the data directory where its spool is. Must be called within a tokio runtime.
    pub fn open(engine: Arc<Engine>, data_dir: &Path) -> Result<Self, OpenLedgerError> {
        let policy = engine.policy();
        let (raw, retain) = (policy.policy().ledger.raw, policy.policy().ledger.retain);
        let settings =
            LedgerSettings { retain_records: raw, retain_rollups: retain, ..LedgerSettings::default() };
        let ledger = Ledger::open(&data_dir.join(FOLDER), settings)?;
        let names = Arc::new(EngineNames::new(Arc::clone(&engine), Handle::current()));
        let (destination, last_check, baseline) = Default::default();
        if let Some(latest) = engine.time_mark.latest_plausible
            && let Reopened::From(from) = ledger.reopen(engine.spool(), latest, engine.now())?
        {
            tracing::warn!(%from, "hours were closed before they were over, and are open again");
        }
        Ok(Self { engine, ledger, names, destination, last_check, baseline })
    }

    /// The engine whose books they are.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The ledger itself.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Names for the numbers of the ledger. Not to be asked by tasks.
    pub fn names(&self) -> &dyn Names {
        &*self.names
    }

    /// Counts what was recorded since, and closes hours that are over. Blocking.
    pub fn tend(&self, now: Timestamp) -> Result<(Rolled, Closed), RollError> {
        let spool = self.engine.spool();
        Ok((self.ledger.roll(spool)?, self.ledger.close_due(spool, now)?))
    }

    /// Chains what is full, and signs what is not, with the audit log as far as it could be followed. Blocking.
    pub fn sign(&self, now: Timestamp) -> Result<(), FollowError> {
        let followed = audit::follow(self.engine.directory(), &self.ledger);
        let head = self.ledger.audit_head()?;
        self.ledger.checkpoint(self.engine.spool(), head, now)?;
        followed.map(drop)
    }

    /// Removes what is older than the policy wants it kept. Records are kept for as long as a quota needs them, even
    /// one that only a single account has. Blocking.
    pub fn prune(&self, now: Timestamp) -> Result<Pruned, PruneDueError> {
        let policy = self.engine.policy();
        let settings = &policy.policy().ledger;
        let quotas = self.longest_memory(&policy).map_err(PruneDueError::Directory)?;
        let needed = Nanos(quotas.0.saturating_add(PolicyLedger::RAW_MARGIN.0));
        self.ledger.keep_for(settings.raw.max(needed), settings.retain);
        let needs = if settings.export.is_some() { Needs::Sealed } else { Needs::Closed };
        let keep_from = self.engine.needs_records_from();
        self.ledger.prune(self.engine.spool(), keep_from, needs, now).map_err(PruneDueError::Prune)
    }

    /// Seals the hours that are closed, if the policy says where to. Dropping it on the way harms nothing.
    pub async fn seal(
        &self,
        now: Timestamp,
        progress: impl FnMut(Progress) + Send,
    ) -> Result<Sealed, SealDueError> {
        // Sealed hours hold names for good. A store that has lost them may be restored.
        if self.engine.directory().store_state() != StoreState::Known {
            return Ok(Sealed::default());
        }
        match self.sealer().map_err(SealDueError::Destination)? {
            None => Ok(Sealed::default()),
            Some(sealer) => sealer.seal_due(now, progress).await.map_err(SealDueError::Seal),
        }
    }

    /// Whoever seals, if the policy says where to.
    fn sealer(&self) -> Result<Option<Sealer>, DestinationError> {
        let policy = self.engine.policy();
        let Some(target) = &policy.policy().ledger.export else { return Ok(None) };
        let url = target.to_string();
        let mut open = self.destination.lock();
        let destination = match open.take() {
            Some(destination) if destination.to_string() == url => destination,
            _ => Destination::open(&url, &S3Access::default())?,
        };
        *open = Some(destination.clone());
        Ok(Some(self.ledger.sealer(destination, Arc::clone(&self.names) as Arc<dyn Names>)))
    }
}
