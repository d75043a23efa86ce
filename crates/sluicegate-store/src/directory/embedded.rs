//! The directory of one node: SQLite has the truth, and every account and key that may be used is also in memory, for
//! the way of a request. A write is durable before it is seen, and seen before its answer is sent.

mod accounts;
mod audit;
mod identity;
mod index;
mod keys;
mod lists;
mod load;
mod rows;
mod shared;
mod tokens;
mod used;

use std::sync::Arc;

use super::Counts;
use super::account::Account;
use super::error::StoreError;
use super::key::Key;
use super::limited::KeyPlace;
use crate::database::Database;
use crate::hash::HomeHasher;
use crate::identity::StoreMemory;
use crate::key_text::KeyId;
use crate::token::TokenSet;
use identity::Identity;
pub(super) use identity::refuse_other_kind;
use shared::Shared;

/// Accounts and keys in a database, and in memory.
#[derive(Debug)]
pub(crate) struct Embedded {
    database: Database,
    shared: Arc<Shared>,
    identity: Identity,
    tokens: Arc<TokenSet>,
}

impl Embedded {
    pub(super) fn open(
        database: Database,
        homes: HomeHasher,
        memory: StoreMemory,
    ) -> Result<Self, StoreError> {
        let identity = Identity::open(&database, memory)?;
        let shared = Arc::new(Shared::new(homes));
        load::load(&mut database.connect()?, &shared)?;
        let tokens = Arc::new(tokens::load(&database)?);
        Ok(Self { database, shared, identity, tokens })
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn custom_accounts(&self) -> Vec<Arc<Account>> {
        self.shared.index.accounts_where(|account| account.standing.load().custom.is_some())
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { accounts: self.shared.index.account_count(), keys: self.shared.index.key_count() }
    }

    #[inline]
    pub(super) fn key(&self, id: KeyId) -> Option<Arc<Key>> {
        self.shared.index.key(id)
    }

    pub(super) fn limited_key(&self, place: KeyPlace) -> Option<Arc<Key>> {
        self.shared.index.limited.get(place)
    }

    pub(super) fn account(&self, id: &str) -> Option<Arc<Account>> {
        self.shared.index.account(id)
    }

    pub(super) fn account_by_serial(&self, serial: u64) -> Option<Arc<Account>> {
        self.shared.index.account_by_serial(serial)
    }
}
