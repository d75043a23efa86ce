//! Whether the database is the one that the data directory knows. Its identity is kept in it.

use std::sync::atomic::{AtomicU8, Ordering};

use super::Embedded;
use crate::database::{Database, DatabaseError, NODE_KEY};
use crate::directory::error::StoreError;
use crate::identity::{StoreId, StoreKind, StoreMemory, StoreMismatch, StoreState};
use crate::key_text::NoRandomness;

/// Under this key of the database.
const KEY: &str = "store";

/// The identity of the database, and what is remembered of it outside.
#[derive(Debug)]
pub(super) struct Identity {
    memory: StoreMemory,
    state: AtomicU8,
}

impl Identity {
    /// Looks whether the database is the one that is remembered. One that was emptied is opened all the same.
    pub(super) fn open(database: &Database, memory: StoreMemory) -> Result<Self, StoreError> {
        let remembered = memory.of_kind(StoreKind::Embedded).map_err(StoreError::Mismatch)?;
        if memory.is_blank() {
            refuse_other_kind(database, StoreKind::Embedded)?;
        }
        let holds_accounts = database.holds_accounts()?;
        let known = remembered.store.map(|(_, store)| store);
        let found = kept(database)?;
        let state = match (&found, &known) {
            // What is there but the identity is a backup from before there was one.
            (None, Some(_)) if !holds_accounts && !remembered.adopts => StoreState::Emptied,
            (Some(found), Some(known)) if found.id != known.id && !remembered.adopts => {
                return Err(StoreError::Mismatch(StoreMismatch::Other));
            }
            _ => StoreState::Known,
        };
        let identity = Self { memory, state: AtomicU8::new(state as u8) };
        if state == StoreState::Known {
            let next = || known.as_ref().map_or_else(StoreId::random, |known| Ok(known.next()));
            identity.keep(database, found, next)?;
        }
        Ok(identity)
    }

    pub(super) fn state(&self) -> StoreState {
        StoreState::from_number(self.state.load(Ordering::Relaxed))
    }

    /// Remembers the identity that the database has, or gives it one.
    fn keep(
        &self,
        database: &Database,
        found: Option<StoreId>,
        make: impl FnOnce() -> Result<StoreId, NoRandomness>,
    ) -> Result<(), StoreError> {
        let store = match found {
            Some(store) => store,
            None => {
                let store = make().map_err(|error| DatabaseError::Other(error.to_string()))?;
                let text = format!("{} {}", store.generation, store.id);
                database.set_meta(KEY, text.into_bytes()).wait()?;
                store
            }
        };
        self.memory.remember(StoreKind::Embedded, &store).map_err(StoreError::Mismatch)?;
        self.state.store(StoreState::Known as u8, Ordering::Relaxed);
        Ok(())
    }
}

/// Refuses a data directory that a version which remembered nothing has used with a store of another kind alone.
pub(crate) fn refuse_other_kind(database: &Database, found: StoreKind) -> Result<(), StoreError> {
    let remembered = match (database.holds_accounts()?, database.meta(NODE_KEY)?.is_some()) {
        (true, false) => StoreKind::Embedded,
        (false, true) => StoreKind::Redis,
        // It is new, or was used with both.
        (false, false) | (true, true) => return Ok(()),
    };
    if remembered == found {
        return Ok(());
    }
    Err(StoreError::Mismatch(StoreMismatch::Kind { remembered, found }))
}

/// The identity that a database has.
fn kept(database: &Database) -> Result<Option<StoreId>, DatabaseError> {
    let Some(bytes) = database.meta(KEY)? else { return Ok(None) };
    let parse = || {
        let (generation, id) = str::from_utf8(&bytes).ok()?.split_once(' ')?;
        Some(StoreId { id: id.to_owned(), generation: generation.parse().ok()? })
    };
    parse().map(Some).ok_or_else(|| DatabaseError::Nonsense("its identity".to_owned()))
}

impl Embedded {
    pub(crate) fn store_state(&self) -> StoreState {
        self.identity.state()
    }

    /// Takes over the database as it is. Blocking.
    pub(crate) fn adopt(&self) -> Result<(), StoreError> {
        let remembered = self.identity.memory.of_kind(StoreKind::Embedded).map_err(StoreError::Mismatch)?;
        let known = remembered.store.map(|(_, store)| store);
        let next = || known.as_ref().map_or_else(StoreId::random, |known| Ok(known.next()));
        self.identity.keep(&self.database, kept(&self.database)?, next)
    }
}
