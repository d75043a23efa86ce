//! The account that usage is asked of, by whatever name it is called.

use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::AccountRecord;

use super::Books;
use super::names::{UNKNOWN_ACCOUNT, marked};
use super::usage::{AskError, Which};

/// Whose usage it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsagePayer {
    /// The unique id under which the ledger knows the account.
    pub serial: u64,
    /// Its id, unless that was lost with the directory.
    pub id: Option<String>,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// Unique ids of deleted accounts that had the same id before it, the newest first.
    pub earlier: Vec<u64>,
}

impl UsagePayer {
    fn of(record: &AccountRecord) -> Self {
        let id = Some(record.id.to_string());
        Self { serial: record.serial, id, deleted_at: record.deleted_at, earlier: Vec::new() }
    }

    /// Its name; with its unique id if it is deleted.
    pub fn name(&self) -> String {
        match &self.id {
            Some(id) if self.deleted_at.is_some() => marked(id, self.serial),
            Some(id) => id.clone(),
            None => format!("{UNKNOWN_ACCOUNT}{}", self.serial),
        }
    }
}

impl Books {
    /// The account of this name: an id, `<id>~<unique id>`, `~<unique id>`, or what exports call an account that was
    /// lost with its directory. Of an id that nobody has any more, the last account that had it.
    pub async fn payer(&self, name: &str) -> Result<UsagePayer, AskError> {
        if let Some((id, serial)) = name.split_once('~') {
            let serial = serial.parse().map_err(|_| AskError::Unknown(Which::Account))?;
            return self.payer_by_serial(Some(id).filter(|id| !id.is_empty()), serial).await;
        }
        let directory = self.engine.directory();
        let mut deleted = directory.find_deleted_accounts(name).await.map_err(AskError::Directory)?;
        let living = directory.find_account(name).await.map_err(AskError::Directory)?;
        let found = living.or_else(|| (!deleted.is_empty()).then(|| deleted.remove(0)));
        if let Some(record) = found {
            let earlier = deleted.iter().map(|record| record.serial).collect();
            return Ok(UsagePayer { earlier, ..UsagePayer::of(&record) });
        }
        match name.strip_prefix(UNKNOWN_ACCOUNT).and_then(|serial| serial.parse().ok()) {
            Some(serial) => self.payer_by_serial(None, serial).await,
            None => Err(AskError::Unknown(Which::Account)),
        }
    }

    async fn payer_by_serial(&self, id: Option<&str>, serial: u64) -> Result<UsagePayer, AskError> {
        let found =
            self.engine.directory().find_account_by_serial(serial).await.map_err(AskError::Directory)?;
        match found {
            Some(record) if id.is_some_and(|id| record.id.as_str() != id) => {
                Err(AskError::Unknown(Which::Account))
            }
            Some(record) => Ok(UsagePayer::of(&record)),
            // The ledger has what the directory has lost.
            None => Ok(UsagePayer { serial, id: None, deleted_at: None, earlier: Vec::new() }),
        }
    }
}
