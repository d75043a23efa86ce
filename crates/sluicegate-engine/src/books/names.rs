//! Names for the numbers of records, from whoever keeps them.

use std::sync::Arc;

use sluicegate_ledger::export::{Named, Names};
use tokio::runtime::Handle;

use crate::engine::Engine;

/// The names that an engine knows. It waits for the directory, so tasks must not ask it.
pub(super) struct EngineNames {
    engine: Arc<Engine>,
    runtime: Handle,
}

impl EngineNames {
    pub(super) fn new(engine: Arc<Engine>, runtime: Handle) -> Self {
        Self { engine, runtime }
    }
}

impl Names for EngineNames {
    fn shown_account(&self, serial: u64) -> Option<String> {
        let found = self.runtime.block_on(self.engine.directory().find_account_by_serial(serial)).ok()?;
        Some(match found {
            Some(account) if account.deleted_at.is_some() => marked(account.id.as_str(), serial),
            Some(account) => account.id.to_string(),
            None => unknown("account", serial),
        })
    }

    fn name(&self, what: Named) -> Option<String> {
        let directory = self.engine.directory();
        match what {
            Named::Account(serial) => {
                let found = self.runtime.block_on(directory.find_account_by_serial(serial)).ok()?;
                Some(found.map_or_else(|| unknown("account", serial), |account| account.id.to_string()))
            }
            Named::Key(serial) => {
                let found = self.runtime.block_on(directory.find_key_by_serial(serial)).ok()?;
                Some(found.map_or_else(|| unknown("key", serial), |key| key.id.to_string()))
            }
            Named::Route(number) | Named::Tier(number) => {
                let name = self.engine.names.name(number);
                Some(name.map_or_else(|| unknown("name", number.into()), |name| name.to_string()))
            }
        }
    }
}

/// What an account is called once it is deleted: another one may have its id. No id has a tilde.
pub(super) fn marked(id: &str, serial: u64) -> String {
    format!("{id}~{serial}")
}

/// What accounts are called that were lost with the directory that named them.
pub(super) const UNKNOWN_ACCOUNT: &str = "unknown-account-";

/// What stands for something that was lost with the directory that named it. Serials are never given again, so it is
/// always the same.
fn unknown(what: &str, number: u64) -> String {
    format!("unknown-{what}-{number}")
}
