//! The directory: accounts, their keys and tiers, and who changed what.
//!
//! One type for every store. Writes and the reads of people are awaited; the way of a request asks
//! [`Directory::verify`] first, which never waits. What it cannot say it leaves to [`Directory::fetch`].

pub(crate) mod account;
mod adoption;
pub(crate) mod audited;
pub(crate) mod changes;
mod embedded;
pub(crate) mod error;
pub(crate) mod field;
pub(crate) mod key;
pub(crate) mod limited;
mod look;
pub(crate) mod makings;
pub(crate) mod note;
pub(crate) mod page;
mod pool;
mod reads;
pub(crate) mod record;
pub(crate) mod restrictions;
pub(crate) mod scopes;
pub(crate) mod serial;
mod tokens;
pub(crate) mod used;
mod writes;

pub use account::{Account, AccountId, LookedAccount, PlanMemo, Standing};
use embedded::Embedded;
pub use error::{ReadError, StoreError, What, WriteError};
pub use field::{CustomBody, DisplayName, FieldError, ZoneName, billing_day};
pub use key::{Key, Looked, Verified};
pub use note::{Deed, Note};
pub use page::{Cursor, Page, PageLimit, Paged};
pub use record::{AccountRecord, AuditRecord, KeyRecord, KeyUpdate, NewAccount, NewKey, Writer};
pub use restrictions::{
    ActiveRestrictions, AllowedIps, AllowedOrigins, KeyLimits, KeyPlanMemo, KeyRestrictions,
};
pub use scopes::Scopes;
use used::UsedKeys;

use crate::database::Database;
use crate::hash::HomeHasher;
use crate::identity::{StoreKind, StoreMemory};
use crate::key_text::KeyHasher;
use crate::redis::directory::RedisDirectory;
pub use crate::redis::directory::{CacheLimits, RedisError};
use crate::redis::link::Link;

/// Accounts and keys, wherever they are kept.
#[derive(Debug)]
pub struct Directory {
    keys: KeyHasher,
    kind: Kind,
    used: UsedKeys,
}

/// Where they are kept.
#[derive(Debug)]
enum Kind {
    Embedded(Embedded),
    Redis(RedisDirectory),
}

impl Directory {
    /// The directory in a database of this process. Loads all accounts and keys.
    pub fn open(database: Database, homes: HomeHasher, keys: KeyHasher) -> Result<Self, StoreError> {
        Self::open_known(database, homes, keys, StoreMemory::forgetful())
    }

    /// The same, if it is the database that is remembered.
    pub fn open_known(
        database: Database,
        homes: HomeHasher,
        keys: KeyHasher,
        memory: StoreMemory,
    ) -> Result<Self, StoreError> {
        let kind = Kind::Embedded(Embedded::open(database, homes, memory)?);
        Ok(Self { keys, kind, used: UsedKeys::default() })
    }

    /// The directory in a Redis that several nodes share, over a link that is up. Every node must have the same secret.
    /// Must be called within a tokio runtime.
    pub async fn shared(
        link: Link,
        homes: HomeHasher,
        keys: KeyHasher,
        limits: CacheLimits,
    ) -> Result<Self, StoreError> {
        let own = RedisDirectory::open(link, homes, &keys, limits, StoreMemory::forgetful()).await?;
        Ok(Self { keys, kind: Kind::Redis(own), used: UsedKeys::default() })
    }

    /// The same, if it is the store that is remembered. The database is that of this node alone.
    pub async fn shared_known(
        link: Link,
        homes: HomeHasher,
        keys: KeyHasher,
        limits: CacheLimits,
        (memory, database): (StoreMemory, &Database),
    ) -> Result<Self, StoreError> {
        if memory.is_blank() {
            embedded::refuse_other_kind(database, StoreKind::Redis)?;
        }
        let own = RedisDirectory::open(link, homes, &keys, limits, memory).await?;
        Ok(Self { keys, kind: Kind::Redis(own), used: UsedKeys::default() })
    }

    /// Whether a change is seen at once, whoever makes it.
    pub fn freshness(&self) -> Freshness {
        match &self.kind {
            Kind::Embedded(_) => Freshness::AtOnce,
            Kind::Redis(own) if own.is_listening() => Freshness::AtOnce,
            Kind::Redis(_) => Freshness::Delayed,
        }
    }

    /// The database it is kept in, if it is kept in one.
    pub fn database(&self) -> Option<&Database> {
        match &self.kind {
            Kind::Embedded(own) => Some(own.database()),
            Kind::Redis(_) => None,
        }
    }
}

/// When a change is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freshness {
    /// By the next request.
    AtOnce,
    /// Within a second, because other nodes are not heard of at the moment.
    Delayed,
}

/// How many accounts and keys there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Accounts that are not deleted.
    pub accounts: usize,
    /// Keys that are not revoked.
    pub keys: usize,
}
