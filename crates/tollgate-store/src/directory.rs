//! The directory: accounts, their keys and tiers, and who changed what.
//!
//! SQLite has the truth; every account and key that may be used is also in memory, for the way of a request. A write is
//! durable before it is seen, and seen before its answer is sent.

mod account;
mod accounts;
mod audit;
mod error;
mod field;
mod index;
mod key;
mod keys;
mod lists;
mod load;
mod page;
mod pool;
mod record;
mod rows;
mod scopes;
mod shared;

use std::sync::Arc;

use tollgate_core::time::Timestamp;

pub use account::{Account, AccountId, PlanMemo, Standing};
pub use error::{ReadError, What, WriteError};
pub use field::{CustomBody, DisplayName, FieldError, ZoneName, billing_day};
pub use key::{Key, Verified};
pub use page::{Cursor, Page, PageLimit, Paged};
pub use record::{AccountRecord, AuditRecord, KeyRecord, NewAccount, NewKey, Writer};
pub use scopes::Scopes;
use shared::Shared;

use crate::database::{Database, DatabaseError};
use crate::hash::HomeHasher;
use crate::key_text::{KeyHasher, KeyId, PresentedKey};

/// The directory of one process.
#[derive(Debug)]
pub struct Directory {
    database: Database,
    keys: KeyHasher,
    shared: Arc<Shared>,
}

impl Directory {
    /// Loads all accounts and keys.
    pub fn open(database: Database, homes: HomeHasher, keys: KeyHasher) -> Result<Self, DatabaseError> {
        let shared = Arc::new(Shared::new(homes));
        load::load(&mut database.connect()?, &shared)?;
        Ok(Self { database, keys, shared })
    }

    /// The database it is kept in.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Accounts with a negotiated tier, in the order of their serials. Looks at every account: for a reload.
    pub fn custom_accounts(&self) -> Vec<Arc<Account>> {
        self.shared.index.accounts_where(|account| account.standing.load().custom.is_some())
    }

    /// How many accounts and keys there are: deleted and revoked ones are not.
    pub fn counts(&self) -> Counts {
        Counts { accounts: self.shared.index.account_count(), keys: self.shared.index.key_count() }
    }

    /// The key of this id, whether it has expired or not.
    pub fn key(&self, id: KeyId) -> Option<Arc<Key>> {
        self.shared.index.key(id)
    }

    /// Whether what was presented is a key that may be used now. Whatever the answer, it takes the same work.
    pub fn verify(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Verified {
        Verified::compare(self.keys.hash(presented), self.shared.index.key(presented.id), now)
    }

    /// The account of this id.
    pub fn account(&self, id: &str) -> Option<Arc<Account>> {
        self.shared.index.account(id)
    }

    /// The account of this serial. One that was deleted is found by [`Directory::find_account_by_serial`] alone.
    pub fn account_by_serial(&self, serial: u64) -> Option<Arc<Account>> {
        self.shared.index.account_by_serial(serial)
    }
}

/// How many accounts and keys there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Accounts that are not deleted.
    pub accounts: usize,
    /// Keys that are not revoked.
    pub keys: usize,
}
