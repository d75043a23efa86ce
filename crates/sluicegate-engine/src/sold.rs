//! The plan of an account, also of one that was deleted: what was open then is settled and billed under the plan that
//! it had.

use std::sync::Arc;

use sluicegate_store::directory::{AccountRecord, Standing, StoreError};

use crate::engine::Engine;

impl Engine {
    /// What an account has, as far as this process can say by itself; one that was deleted, what it had.
    pub(crate) fn standing_here(&self, serial: u64) -> Option<Arc<Standing>> {
        if serial == 0 {
            return None;
        }
        match self.directory.account_by_serial(serial) {
            Some(account) => Some(account.standing.load_full()),
            None => self.directory.account_record_here(serial).ok()?.as_ref().and_then(standing_of),
        }
    }

    /// The same, by memory or by the store. Nothing if there was never such an account.
    pub(crate) async fn standing_anywhere(&self, serial: u64) -> Result<Option<Arc<Standing>>, StoreError> {
        if serial == 0 {
            return Ok(None);
        }
        if let Some(account) = self.directory.account_by_serial(serial) {
            return Ok(Some(account.standing.load_full()));
        }
        let Some(found) = self.directory.find_account_by_serial(serial).await? else { return Ok(None) };
        if found.deleted_at.is_none() {
            // From then on it is known here.
            let account = self.directory.account(found.id.as_str()).await?;
            // Another one may have its id now.
            if let Some(account) = account.filter(|account| account.serial == serial) {
                return Ok(Some(account.standing.load_full()));
            }
        }
        Ok(standing_of(&found))
    }
}

/// What an account has by its record.
pub(crate) fn standing_of(record: &AccountRecord) -> Option<Arc<Standing>> {
    record.standing().map(Arc::new)
}
