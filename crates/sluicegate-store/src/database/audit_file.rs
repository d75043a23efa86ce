//! The audit log of a database file that another process may have open: for those who check it.

use std::path::Path;

use rusqlite::Connection;
use sluicegate_core::audit::Head;

use super::schema::{self, Owner};
use super::{DatabaseError, NODE_KEY, audit, file, names};
use crate::audit::AuditEntry;

/// Where an audit log is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogPlace {
    /// In this file.
    Here,
    /// In the store that several nodes share.
    Shared,
}

/// The audit log in a file. It takes no lock, and changes nothing.
#[derive(Debug)]
pub struct AuditFile(Connection);

impl AuditFile {
    /// Opens the file, which must be there.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let connection = file::open_to_read(path)?;
        let opening = |error| DatabaseError::opening(path, &error);
        if schema::owner(&connection).map_err(opening)? == Owner::Other {
            return Err(DatabaseError::NotOurs { path: path.to_owned() });
        }
        schema::expect_known(&connection)?;
        Ok(Self(connection))
    }

    /// Entries after this number, the oldest first.
    pub fn after(&self, seq: u64, rows: u16) -> Result<Vec<AuditEntry>, DatabaseError> {
        audit::after(&self.0, seq, rows)
    }

    /// Where the entries of the node are that this file belongs to.
    pub fn place(&self) -> Result<LogPlace, DatabaseError> {
        let is_shared = names::meta(&self.0, NODE_KEY)?.is_some() && audit::head(&self.0)? == Head::default();
        Ok(if is_shared { LogPlace::Shared } else { LogPlace::Here })
    }

    /// The last entry and its link.
    pub fn head(&self) -> Result<Head, DatabaseError> {
        audit::head(&self.0)
    }
}
