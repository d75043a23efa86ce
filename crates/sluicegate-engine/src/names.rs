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
    known: RwLock<KnownNames>,
    /// The numbers under which they are counted, which end with the process.
    pub(crate) rows: Arc<Rows>,
}

/// Names and numbers, by either.
#[derive(Debug, Default)]
struct KnownNames {
    numbers: BTreeMap<Arc<str>, u32>,
    names: BTreeMap<u32, Arc<str>>,
}

impl KnownNames {
    fn insert(&mut self, name: &str, number: u32) {
        let name: Arc<str> = name.into();
        self.numbers.insert(Arc::clone(&name), number);
        self.names.insert(number, name);
    }
}

impl Names {
    pub(crate) fn open(database: Database) -> Result<Self, DatabaseError> {
        let mut known = KnownNames::default();
        for (number, name) in database.names()? {
            known.insert(&name, number);
        }
        Ok(Self { database, known: RwLock::new(known), rows: Arc::default() })
    }

    /// The number of `name`, which is stored if it is new.
    pub(crate) fn number(&self, name: &str) -> Result<u32, DatabaseError> {
        if let Some(number) = self.known.read().numbers.get(name) {
            return Ok(*number);
        }
        let number = self.database.intern(name).wait()?;
        self.known.write().insert(name, number);
        Ok(number)
    }

    /// The number of `name`, if it has one.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.known.read().numbers.get(name).copied()
    }

    /// The name that has this number.
    pub(crate) fn name(&self, number: u32) -> Option<Arc<str>> {
        self.known.read().names.get(&number).map(Arc::clone)
    }
}
