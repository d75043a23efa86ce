//! Names of routes and tiers, as the numbers that ledger records hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use sluicegate_store::database::{Database, DatabaseError};

use crate::pulse::Rows;

/// Every name that has a number. Numbers are stored and never change.
#[derive(Debug)]
pub(crate) struct Names {
    database: Database,
    known: RwLock<BTreeMap<String, u32>>,
    /// The numbers under which they are counted, which end with the process.
    pub(crate) rows: Arc<Rows>,
}

impl Names {
    pub(crate) fn open(database: Database) -> Result<Self, DatabaseError> {
        let known = database.names()?.into_iter().map(|(number, name)| (name, number)).collect();
        Ok(Self { database, known: RwLock::new(known), rows: Arc::default() })
    }

    /// The number of `name`, which is stored if it is new.
    pub(crate) fn number(&self, name: &str) -> Result<u32, DatabaseError> {
        if let Some(number) = self.known.read().get(name) {
            return Ok(*number);
        }
        let number = self.database.intern(name).wait()?;
        self.known.write().insert(name.to_owned(), number);
        Ok(number)
    }

    /// The number of `name`, if it has one.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.known.read().get(name).copied()
    }

    /// The name that has this number. Looks at all of them.
    pub(crate) fn name(&self, number: u32) -> Option<String> {
        let known = self.known.read();
        known.iter().find(|(_, it)| **it == number).map(|(name, _)| name.clone())
    }
}
