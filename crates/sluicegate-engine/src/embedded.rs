//! An engine that needs nothing but a directory.

use std::fmt;
use std::path::Path;

use sluicegate_core::policy::{Maxima, Policy, Proxies};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{OpenError, Spool, SpoolSettings};
use sluicegate_store::database::{Database, DatabaseError};
use sluicegate_store::directory::{Directory, StoreError};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::identity::StoreMemory;
use sluicegate_store::key_text::{KeyHasher, NoRandomness};
use sluicegate_store::subject_key::{Rotation, SubjectKey, SubjectKeyError};

use crate::clock::Clock;
use crate::engine::{Engine, EngineParts};
use crate::identify::{DailyHash, SessionKeys};
use crate::permit::PermitKey;
use crate::recover::{Progress, RecoverError, Recovered};

/// What the secret is used for, each use with a key of its own. Changing one of these orphans what it hashed.
const KEYS: &str = "sluicegate 2026-11-15 hashes of API keys";
const HOMES: &str = "sluicegate 2026-11-15 homes of accounts and clients";

/// How an engine in a directory is opened.
#[derive(Clone)]
pub struct Embedded {
    /// The policy it starts with.
    pub policy: Policy,
    /// Who is believed about who called.
    pub proxies: Proxies,
    /// The secrets of sessions: the first one signs, what any of them signed is accepted. None: the engine's own.
    pub session_secrets: Vec<String>,
    /// The secrets before the one in use, the newest first: keys, tokens, permits and cookies made under them are
    /// accepted.
    pub previous_secrets: Vec<String>,
    /// The clock, given the latest instant on record.
    pub clock: fn(Timestamp) -> Clock,
    /// How the spool is kept.
    pub spool: SpoolSettings,
    /// How many callers without a key have meters of their own.
    pub clients_max: u32,
}

/// Why an engine in a directory was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// The database.
    Database(DatabaseError),
    /// The accounts and keys in it.
    Directory(StoreError),
    /// The spool.
    Spool(OpenError),
    /// What they hold.
    Recover(RecoverError),
    /// The key of subjects.
    SubjectKey(SubjectKeyError),
    /// The system gives no random bytes.
    Random(NoRandomness),
}

impl fmt::Display for EmbeddedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::Directory(error) => error.fmt(f),
            Self::Spool(error) => error.fmt(f),
            Self::Recover(error) => error.fmt(f),
            Self::SubjectKey(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EmbeddedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::Directory(error) => Some(error),
            Self::Spool(error) => Some(error),
            Self::Recover(error) => Some(error),
            Self::SubjectKey(error) => Some(error),
            Self::Random(error) => Some(error),
        }
    }
}

/// Without the secrets.
impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

impl Embedded {
    /// With this policy, the system's clock, and nobody's headers believed.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            proxies: Proxies::default(),
            session_secrets: Vec::new(),
            previous_secrets: Vec::new(),
            clock: Clock::system,
            spool: SpoolSettings::default(),
            clients_max: Maxima::CLIENTS_DEFAULT,
        }
    }

    /// Opens the engine whose accounts, keys and usage are in `dir`, which must be there. Everything that is hashed is
    /// hashed with `secret`: with another one, no key is recognised.
    pub fn open(
        self,
        dir: &Path,
        secret: &[u8],
        progress: impl FnMut(Progress),
    ) -> Result<(Engine, Recovered), EmbeddedError> {
        let secrets = NodeSecrets::new(secret, &self.previous_secrets, &self.session_secrets);
        let database = Database::open(&dir.join("sluicegate.db")).map_err(EmbeddedError::Database)?;
        let subjects = secrets.rotation().embedded(&database).map_err(EmbeddedError::SubjectKey)?;
        let Hashers { homes, keys, sessions, permits, daily } = Hashers::new(&secrets, subjects);
        let memory = StoreMemory::of_directory(dir).map_err(StoreError::Mismatch);
        let memory = memory.map_err(EmbeddedError::Directory)?;
        let directory = Directory::open_known(database.clone(), homes.clone(), keys, memory);
        let directory = directory.map_err(EmbeddedError::Directory)?;
        let spool = Spool::open(&dir.join("spool"), self.spool).map_err(EmbeddedError::Spool)?;
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
            clock: self.clock,
            random: random().map_err(EmbeddedError::Random)?,
            clients_max: self.clients_max,
            shared: None,
        };
        Engine::open(parts, progress).map_err(EmbeddedError::Recover)
    }
}

/// What is made of the secret.
pub(crate) struct Hashers {
    pub(crate) homes: HomeHasher,
    pub(crate) keys: KeyHasher,
    pub(crate) sessions: SessionKeys,
    pub(crate) permits: PermitKey,
    pub(crate) daily: DailyHash,
}

impl Hashers {
    pub(crate) fn new(secrets: &NodeSecrets<'_>, subjects: SubjectKey) -> Self {
        let NodeSecrets { current, previous, sessions } = secrets;
        let sessions = match sessions.split_first() {
            None => SessionKeys::new(current, previous),
            Some((signing, others)) => {
                let others: Vec<&[u8]> = others.iter().map(String::as_bytes).collect();
                SessionKeys::new(signing.as_bytes(), &others)
            }
        };
        Self {
            homes: HomeHasher::new(subjects),
            keys: KeyHasher::new(&blake3::derive_key(KEYS, current))
                .with_previous(previous.iter().map(|secret| blake3::derive_key(KEYS, secret))),
            sessions,
            permits: PermitKey::new(current).with_previous(previous.iter().copied()),
            daily: DailyHash::new(current),
        }
    }
}

/// The secrets of a node.
pub(crate) struct NodeSecrets<'s> {
    current: &'s [u8],
    /// Those before, the newest first.
    previous: Vec<&'s [u8]>,
    /// What session cookies are signed with; none: the secrets above.
    sessions: &'s [String],
}

impl<'s> NodeSecrets<'s> {
    pub(crate) fn new(current: &'s [u8], previous: &'s [String], sessions: &'s [String]) -> Self {
        Self { current, previous: previous.iter().map(String::as_bytes).collect(), sessions }
    }

    /// What the key of subjects is found by.
    pub(crate) fn rotation(&self) -> Rotation<'_> {
        let derive = |secret: &[u8]| {
            let mut key = [0; 16];
            key.copy_from_slice(&blake3::derive_key(HOMES, secret)[..16]);
            key
        };
        Rotation { current: self.current, previous: &self.previous, derive }
    }
}

/// A number that nobody can guess.
pub(crate) fn random() -> Result<u64, NoRandomness> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|_| NoRandomness)?;
    Ok(u64::from_le_bytes(random))
}
