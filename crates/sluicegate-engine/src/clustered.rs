//! An engine whose accounts, keys and meters are in a Redis or Valkey that several nodes share.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::policy::{Policy, Proxies};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{OpenError, Spool, SpoolSettings};
use sluicegate_store::database::{Database, DatabaseError};
use sluicegate_store::directory::{CacheLimits, Directory, StoreError};
use sluicegate_store::identity::StoreMemory;
use sluicegate_store::key_text::NoRandomness;
use sluicegate_store::redis::check::{self, Unfit};
use sluicegate_store::redis::{
    Address, Homes, HomesSettings, Link, LinkError, LinkOptions, Meters, NodeId, Seq, TimeBound,
};
use sluicegate_store::subject_key::SubjectKeyError;

use crate::clock::Clock;
use crate::embedded::{Hashers, NodeSecrets, random};
use crate::engine::{Engine, EngineParts};
use crate::recover::{Progress, RecoverError, Recovered};
use crate::shared::SharedParts;

/// How long a start waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where in the database the number of the node is kept.
const NODE: &str = sluicegate_store::database::NODE_KEY;
/// Under another number the journal asks, so that what it settles and what requests charge do not get in each other's
/// way.
const JOURNAL: u64 = 1 << 63;

/// How an engine over a shared store is opened.
#[derive(Clone)]
pub struct Clustered {
    /// The policy it starts with.
    pub policy: Policy,
    /// Who is believed about who called.
    pub proxies: Proxies,
    /// The secrets of sessions: the first one signs, what any of them signed is accepted. None: the engine's own.
    pub session_secrets: Vec<String>,
    /// The secrets before the one in use, the newest first: keys, tokens, permits and cookies made under them are
    /// accepted.
    pub previous_secrets: Vec<String>,
    /// Where the store is.
    pub address: Address,
    /// What is not in the address.
    pub link: LinkOptions,
    /// How the spool is kept.
    pub spool: SpoolSettings,
    /// How many callers without a key have meters of their own on this node while the store is away.
    pub clients_max: u32,
}

/// Why an engine over a shared store was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClusteredError {
    /// The database of the node.
    Database(DatabaseError),
    /// The spool of the node.
    Spool(OpenError),
    /// What they hold.
    Recover(RecoverError),
    /// The system gives no random bytes.
    Random(NoRandomness),
    /// The store cannot be reached.
    Link(LinkError),
    /// The store is one that would lose or refuse what is entrusted to it.
    Unfit(Unfit),
    /// The accounts and keys in the store.
    Directory(StoreError),
    /// The key of subjects.
    SubjectKey(SubjectKeyError),
}

impl fmt::Display for ClusteredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::Spool(error) => error.fmt(f),
            Self::Recover(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
            Self::Link(error) => error.fmt(f),
            Self::Unfit(error) => error.fmt(f),
            Self::Directory(error) => error.fmt(f),
            Self::SubjectKey(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClusteredError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::Spool(error) => Some(error),
            Self::Recover(error) => Some(error),
            Self::Random(error) => Some(error),
            Self::Link(error) => Some(error),
            Self::Unfit(error) => Some(error),
            Self::Directory(error) => Some(error),
            Self::SubjectKey(error) => Some(error),
        }
    }
}

/// Without the secrets.
impl fmt::Debug for Clustered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clustered").finish_non_exhaustive()
    }
}

impl Clustered {
    /// Opens the engine. What this node alone knows is in `dir`, which must be there. Every node must have the same
    /// `secret`. Must be called within a tokio runtime.
    pub async fn open(
        self,
        dir: &Path,
        secret: &[u8],
        progress: impl FnMut(Progress),
    ) -> Result<(Engine, Recovered), ClusteredError> {
        let secrets = NodeSecrets::new(secret, &self.previous_secrets, &self.session_secrets);
        let database = Database::open(&dir.join("sluicegate.db")).map_err(ClusteredError::Database)?;
        let memory = StoreMemory::of_directory(dir).map_err(StoreError::Mismatch);
        let memory = memory.map_err(ClusteredError::Directory)?;
        let link = Link::open(&self.address, &self.link).map_err(ClusteredError::Link)?;
        link.ready(PATIENCE).await.map_err(ClusteredError::Link)?;
        check::check(&link).await.map_err(ClusteredError::Unfit)?;
        let subjects = secrets.rotation().shared(&link).await.map_err(ClusteredError::SubjectKey)?;
        let Hashers { homes, keys, sessions, permits, daily } = Hashers::new(&secrets, subjects);
        let (limits, known) = (CacheLimits::default(), (memory, &database));
        let directory = Directory::shared_known(link.clone(), homes.clone(), keys, limits, known);
        let directory = directory.await.map_err(ClusteredError::Directory)?;
        // Afterwards: a directory that is refused is left as it was.
        let node = node(&database)?;
        let spool = Spool::open(&dir.join("spool"), self.spool).map_err(ClusteredError::Spool)?;
        let time_bound = Arc::new(TimeBound::default());
        let meters = |node: NodeId| Meters::new(link.clone(), node).with_time_bound(Arc::clone(&time_bound));
        let journal = meters(NodeId(node.0 | JOURNAL));
        journal.prepare().await;
        let blocks = link.clone();
        let homes_of_store = Homes::new(meters(node), node, first_seq(), HomesSettings::default());
        let parts = EngineParts {
            policy: self.policy,
            directory,
            database,
            spool,
            homes,
            sessions,
            permits,
            daily,
            proxies: self.proxies,
            clock: Clock::system,
            random: random().map_err(ClusteredError::Random)?,
            clients_max: self.clients_max,
            shared: Some(SharedParts { homes: homes_of_store, journal, node, blocks, time_bound }),
        };
        Engine::open(parts, progress).map_err(ClusteredError::Recover)
    }
}

/// The number of this node, which it keeps for as long as its directory exists.
fn node(database: &Database) -> Result<NodeId, ClusteredError> {
    let kept = database.meta(NODE).map_err(ClusteredError::Database)?;
    if let Some(bytes) = kept.and_then(|bytes| bytes.try_into().ok()) {
        return Ok(NodeId(u64::from_be_bytes(bytes)));
    }
    let node = random().map_err(ClusteredError::Random)? & !JOURNAL;
    database.set_meta(NODE, node.to_be_bytes().to_vec()).wait().map_err(ClusteredError::Database)?;
    Ok(NodeId(node))
}

/// Above every number that this node has used before: it cannot have made a call in every microsecond.
fn first_seq() -> Seq {
    let micros = Clock::system(Timestamp::EPOCH).now().as_nanos() / 1_000;
    Seq::new(micros.clamp(1, Seq::MAX)).unwrap_or(Seq::FIRST)
}
