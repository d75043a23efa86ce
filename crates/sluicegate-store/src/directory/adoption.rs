//! Whether the store is the one that this node knows, and taking over another.

use serde_json::json;

use super::error::{StoreError, WriteError};
use super::note::{Deed, Note};
use super::record::Writer;
use super::{Directory, Kind};
use crate::identity::StoreState;

impl Directory {
    /// Whether the store is the one that this node knows, as far as it was asked lately. Never waits.
    pub fn store_state(&self) -> StoreState {
        match &self.kind {
            Kind::Embedded(own) => own.store_state(),
            Kind::Redis(own) => own.store_state(),
        }
    }

    /// Takes over the store as it is: one that has lost everything, or another one. Accounts and keys that it does not
    /// have are gone for good. Says what it was before; one that is known already is left as it is.
    pub async fn adopt_store(&self, by: &Writer) -> Result<StoreState, WriteError> {
        let before = self.store_state();
        if before == StoreState::Known {
            return Ok(before);
        }
        match &self.kind {
            Kind::Embedded(own) => own.adopt()?,
            Kind::Redis(own) => own.adopt().await?,
        }
        let said = Some(json!({"store": before.as_str()}));
        let note = Note { deed: Deed::AdoptStore, target: "store".to_owned(), before: said, after: None };
        self.note(note, by).await?;
        Ok(before)
    }

    /// Nothing is written to a store that is not known: its first account might be taken for another one.
    pub(super) fn refuse_unadopted(&self) -> Result<(), WriteError> {
        match (&self.kind, self.store_state()) {
            // Redis is asked by every write itself: it may have been adopted by another node.
            (Kind::Embedded(_), state @ (StoreState::Emptied | StoreState::Other)) => {
                Err(StoreError::NotAdopted(state).into())
            }
            _ => Ok(()),
        }
    }
}
