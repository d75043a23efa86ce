//! Opening the engine over the store that the policy names.

use std::fmt;

use sluicegate_core::policy::{Document, StoreSettings};
use sluicegate_engine::{Clustered, ClusteredError, Embedded, EmbeddedError, Engine, Progress, Recovered};
use sluicegate_ledger::SpoolSettings;
use sluicegate_store::redis::{Address, BadAddress};

use crate::data_dir::DataDir;
use crate::secrets::Secrets;

/// How a Redis is reached, beside its address.
pub use sluicegate_store::redis::{LinkOptions as RedisOptions, Password as RedisPassword};

/// Why there is no engine.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The data directory.
    Embedded(EmbeddedError),
    /// The address of the Redis is not one.
    Address(String, BadAddress),
    /// The Redis, or the data directory.
    Redis(String, ClusteredError),
}

/// The engine with its meters as they were when the last process ended.
pub(crate) async fn open(
    dir: &DataDir,
    secrets: &Secrets,
    document: Document,
    redis: RedisOptions,
    progress: impl FnMut(Progress),
) -> Result<(Engine, Recovered), StoreError> {
    let (dir, secret) = (dir.path(), secrets.secret.as_bytes());
    let session_secrets = secrets.sessions.clone();
    let previous_secrets = secrets.previous.clone();
    let (proxies, clients_max) = (document.server.proxies, document.server.max.clients);
    match &document.store {
        StoreSettings::Embedded => {
            let embedded = Embedded {
                proxies,
                session_secrets,
                previous_secrets,
                clients_max,
                ..Embedded::new(document.policy)
            };
            embedded.open(dir, secret, progress).map_err(StoreError::Embedded)
        }
        StoreSettings::Redis { url, .. } => {
            let address = Address::parse(url).map_err(|bad| StoreError::Address(url.clone(), bad))?;
            let clustered = Clustered {
                policy: document.policy,
                proxies,
                session_secrets,
                previous_secrets,
                address,
                link: redis,
                spool: SpoolSettings::default(),
                clients_max,
            };
            let opened = clustered.open(dir, secret, progress).await;
            opened.map_err(|error| StoreError::Redis(url.clone(), error))
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(error) => error.fmt(f),
            Self::Address(url, bad) => write!(f, "the store {url} is no address: {bad}"),
            Self::Redis(url, error) => write!(f, "cannot use the store {url}: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Embedded(error) => Some(error),
            Self::Address(_, bad) => Some(bad),
            Self::Redis(_, error) => Some(error),
        }
    }
}
