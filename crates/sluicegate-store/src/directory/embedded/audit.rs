//! Audit entries: what each write changed, in the same transaction.

use rusqlite::{Connection, Row};
use sluicegate_core::audit::Head;

use super::Embedded;
use crate::audit::AuditEntry;
use crate::database::audit::{self, NewEntry};
use crate::database::{DatabaseError, Pending};
use crate::directory::audited::{Action, Audited};
use crate::directory::error::{StoreError, WriteError};
use crate::directory::note::Note;
use crate::directory::record::{AuditRecord, Writer};

impl Embedded {
    /// Enters a note.
    pub(crate) async fn note(&self, note: Note, by: &Writer) -> Result<(), WriteError> {
        let by = by.clone();
        let run = move |connection: &Connection| {
            let says = note.says();
            insert(connection, &by, note.action(), &note.target, says).map_err(WriteError::from)
        };
        self.database.write(run, |_: &()| ()).await
    }

    pub(crate) fn audit_after(&self, seq: u64, rows: u16) -> Pending<Vec<AuditEntry>, StoreError> {
        self.database.read(move |connection| Ok(audit::after(connection, seq, rows)?))
    }

    pub(crate) async fn audit_head(&self) -> Result<Head, DatabaseError> {
        self.database.read(audit::head).await
    }
}

/// Enters what a write changed.
pub(super) fn enter<R: Audited>(
    connection: &Connection,
    by: &Writer,
    action: Action,
    before: Option<&R>,
    after: &R,
) -> Result<(), DatabaseError> {
    let says = [before.map(|record| record.says()), Some(after.says())];
    insert(connection, by, action, after.target(), says)
}

pub(super) fn insert(
    connection: &Connection,
    by: &Writer,
    action: Action,
    target: &str,
    [before, after]: [Option<String>; 2],
) -> Result<(), DatabaseError> {
    let (before, after) = (before.as_deref(), after.as_deref());
    let (at, who, action) = (by.now.as_nanos(), by.who.as_str(), action.as_str());
    audit::insert(connection, &NewEntry { at, who, action, target, before, after })
}

pub(super) fn record(row: &Row<'_>) -> Result<AuditRecord, DatabaseError> {
    let entry = audit::entry(row)?;
    let (seq, link) = (entry.seq, entry.link.unwrap_or_default());
    entry.record(link).ok_or_else(|| DatabaseError::Nonsense(format!("audit entry {seq}")))
}
