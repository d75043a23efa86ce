//! Reads for people: pages of lists, and one thing by its name.

use std::sync::Arc;

use sluicegate_core::audit::Head;

use super::account::{Account, AccountId};
use super::error::{ReadError, StoreError, What};
use super::page::{Page, PageLimit, Paged};
use super::record::{AccountRecord, AuditRecord, KeyRecord};
use super::{Counts, Directory, Kind};
use crate::audit::AuditEntry;
use crate::database::Pending;
use crate::key_text::KeyId;

/// Reads for people. They see every write that has returned.
impl Directory {
    /// The accounts, in the order in which they were made.
    pub async fn list_accounts(&self, page: Page) -> Result<Paged<AccountRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.list_accounts(page).await?),
            Kind::Redis(own) => Ok(own.list_accounts(page).await?),
        }
    }

    /// The account of this id.
    pub async fn find_account(&self, id: &str) -> Result<Option<AccountRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.find_account(id).await?),
            Kind::Redis(own) => Ok(own.find_account(id).await?),
        }
    }

    /// The account of this serial, also if it was deleted.
    pub async fn find_account_by_serial(&self, serial: u64) -> Result<Option<AccountRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.find_account_by_serial(serial).await?),
            Kind::Redis(own) => Ok(own.find_account_by_serial(serial).await?),
        }
    }

    /// The same, if nobody else has to be asked: nothing where nodes share a directory. Waits for the disk.
    pub fn account_record_here(&self, serial: u64) -> Result<Option<AccountRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.read_account_by_serial(serial).wait()?),
            Kind::Redis(_) => Ok(None),
        }
    }

    /// The accounts of this id that were deleted, the newest first; of very many only the newest.
    pub async fn find_deleted_accounts(&self, id: &str) -> Result<Vec<AccountRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.find_deleted_accounts(id).await?),
            Kind::Redis(own) => Ok(own.find_deleted_accounts(id).await?),
        }
    }

    /// The keys of an account, revoked ones included, in the order in which they were made.
    pub async fn list_keys(&self, account: &str, page: Page) -> Result<Paged<KeyRecord>, ReadError> {
        let account = AccountId::new(account).map_err(|_| ReadError::NotFound(What::Account))?;
        match &self.kind {
            Kind::Embedded(own) => own.list_keys(account, page).await,
            Kind::Redis(own) => own.list_keys(&account, page).await,
        }
    }

    /// The key of this id, also if it is revoked.
    pub async fn find_key(&self, id: KeyId) -> Result<Option<KeyRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.find_key(id).await?),
            Kind::Redis(own) => Ok(own.find_key(id).await?),
        }
    }

    /// The key of this serial, also if it is revoked.
    pub async fn find_key_by_serial(&self, serial: u64) -> Result<Option<KeyRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.find_key_by_serial(serial).await?),
            Kind::Redis(own) => Ok(own.find_key_by_serial(serial).await?),
        }
    }

    /// The audit entries, the newest first.
    pub async fn list_audit(&self, page: Page) -> Result<Paged<AuditRecord>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.list_audit(page).await?),
            Kind::Redis(own) => Ok(own.list_audit(page).await?),
        }
    }

    /// Audit entries after this number as they are kept, the oldest first: for those who check or follow their links.
    pub fn audit_after(&self, seq: u64, limit: PageLimit) -> Pending<Vec<AuditEntry>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => own.audit_after(seq, limit.get()),
            Kind::Redis(own) => own.audit_after(seq, limit.get()),
        }
    }

    /// The last audit entry, and the link that stands for all of them. Where links are not kept they are made from
    /// all entries there are, so this is not for now and then: follow the entries instead.
    pub async fn audit_head(&self) -> Result<Head, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.audit_head().await?),
            Kind::Redis(own) => Ok(own.audit_head().await?),
        }
    }

    /// How many accounts and keys there are: deleted and revoked ones are not.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.counts()),
            Kind::Redis(own) => Ok(own.counts().await?),
        }
    }

    /// Accounts with a negotiated tier, in the order of their serials. Looks at all of them: for a reload.
    pub fn custom_accounts(&self) -> Pending<Vec<Arc<Account>>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Pending::ready(Ok(own.custom_accounts())),
            Kind::Redis(own) => own.custom_accounts(),
        }
    }
}
