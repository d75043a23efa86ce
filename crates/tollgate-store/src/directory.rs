//! The directory: accounts, their keys and tiers, and who changed what.
//!
//! SQLite has the truth; every account and key that may be used is also in memory, for the way of a request. A write is
//! durable before it is seen, and seen before its answer is sent.

mod account;
mod error;
mod field;
mod key;
mod page;
mod record;
mod scopes;

use std::sync::Arc;

use tollgate_core::policy::TierName;
use tollgate_core::time::{Nanos, Timestamp};

pub use account::{Account, AccountId, PlanMemo, Standing};
pub use error::{ReadError, What, WriteError};
pub use field::{CustomBody, DisplayName, FieldError, ZoneName, billing_day};
pub use key::{Key, Verified};
pub use page::{Cursor, Page, PageLimit, Paged};
pub use record::{AccountRecord, AuditRecord, KeyRecord, NewAccount, NewKey, Writer};
pub use scopes::Scopes;

use crate::database::{Database, DatabaseError};
use crate::hash::HomeHasher;
use crate::key_text::{KeyHasher, KeyId, PresentedKey, SecretText};

/// The directory of one process.
#[derive(Debug)]
pub struct Directory {
    database: Database,
    _homes: HomeHasher,
    _keys: KeyHasher,
}

impl Directory {
    /// Loads all accounts and keys.
    pub fn open(database: Database, homes: HomeHasher, keys: KeyHasher) -> Result<Self, DatabaseError> {
        Ok(Self { database, _homes: homes, _keys: keys })
    }

    /// The database it is kept in.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Accounts with a negotiated tier.
    pub fn custom_accounts(&self) -> Vec<Arc<Account>> {
        Vec::new()
    }

    /// How many accounts and keys there are: deleted and revoked ones are not.
    pub fn counts(&self) -> Counts {
        Counts { accounts: 0, keys: 0 }
    }

    /// The key of this id, whether it has expired or not.
    pub fn key(&self, _id: KeyId) -> Option<Arc<Key>> {
        None
    }

    /// Whether what was presented is a key that may be used now. Whatever the answer, it takes the same work.
    pub fn verify(&self, _presented: &PresentedKey<'_>, _now: Timestamp) -> Verified {
        Verified::Invalid
    }

    /// The account of this id.
    pub fn account(&self, _id: &str) -> Option<Arc<Account>> {
        None
    }

    /// The account of this serial. One that was deleted is found by [`Directory::find_account_by_serial`] alone.
    pub fn account_by_serial(&self, _serial: u64) -> Option<Arc<Account>> {
        None
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

/// Writes. Each is durable when it returns, seen by the next request, and one audit entry. It is done even if nobody
/// waits for it any more.
#[expect(clippy::unused_async, reason = "the signatures come first")]
impl Directory {
    /// Makes an account.
    pub async fn create_account(&self, _new: NewAccount, _by: &Writer) -> Result<AccountRecord, WriteError> {
        Err(DatabaseError::Closed.into())
    }

    /// Gives an account a tier that the caller has checked to exist. Nothing of a negotiated tier stays in force.
    pub async fn set_tier(
        &self,
        _account: &str,
        _tier: TierName,
        _by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        Err(DatabaseError::Closed.into())
    }

    /// Gives an account a tier of its own, `custom:<id>`.
    pub async fn set_custom(
        &self,
        _account: &str,
        _body: CustomBody,
        _by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        Err(DatabaseError::Closed.into())
    }

    /// Deletes an account and revokes its keys. The id may be given again; the serial is not, and the meters stay.
    pub async fn delete_account(&self, _account: &str, _by: &Writer) -> Result<AccountRecord, WriteError> {
        Err(DatabaseError::Closed.into())
    }

    /// Makes a key. Its secret is in the answer and nowhere else.
    pub async fn create_key(
        &self,
        _account: &str,
        _new: NewKey,
        _by: &Writer,
    ) -> Result<(KeyRecord, SecretText), WriteError> {
        Err(DatabaseError::Closed.into())
    }

    /// Gives a key a new secret. The one before lives for `overlap`; the one before that, if it still lived, ends now.
    pub async fn rotate_key(
        &self,
        _id: KeyId,
        _overlap: Nanos,
        _by: &Writer,
    ) -> Result<(KeyRecord, SecretText), WriteError> {
        Err(DatabaseError::Closed.into())
    }

    /// Makes a key invalid, for good. A key that is revoked already stays as it is.
    pub async fn revoke_key(&self, _id: KeyId, _by: &Writer) -> Result<KeyRecord, WriteError> {
        Err(DatabaseError::Closed.into())
    }
}

/// Reads for people.
#[expect(clippy::unused_async, reason = "the signatures come first")]
impl Directory {
    /// The accounts, in the order in which they were made.
    pub async fn list_accounts(&self, _page: Page) -> Result<Paged<AccountRecord>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The account of this id.
    pub async fn find_account(&self, _id: &str) -> Result<Option<AccountRecord>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The account of this serial, also if it was deleted.
    pub async fn find_account_by_serial(&self, _serial: u64) -> Result<Option<AccountRecord>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The keys of an account, revoked ones included, in the order in which they were made.
    pub async fn list_keys(&self, _account: &str, _page: Page) -> Result<Paged<KeyRecord>, ReadError> {
        Err(DatabaseError::Closed.into())
    }

    /// The key of this id, also if it is revoked.
    pub async fn find_key(&self, _id: KeyId) -> Result<Option<KeyRecord>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The key of this serial, also if it is revoked.
    pub async fn find_key_by_serial(&self, _serial: u64) -> Result<Option<KeyRecord>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The audit entries, the newest first.
    pub async fn list_audit(&self, _page: Page) -> Result<Paged<AuditRecord>, DatabaseError> {
        Err(DatabaseError::Closed)
    }
}
