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
                Some(self.engine.names.name(number).unwrap_or_else(|| unknown("name", number.into())))
            }
        }
    }
}

/// What stands for something that was lost with the directory that named it. Serials are never given again, so it is
/// always the same.
fn unknown(what: &str, number: u64) -> String {
    format!("unknown-{what}-{number}")
}
