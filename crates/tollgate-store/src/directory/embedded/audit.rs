//! Audit entries: what each write changed, in the same transaction.

use rusqlite::{Connection, Row};
use serde_json::Value;

use super::Embedded;
use crate::database::DatabaseError;
use crate::database::column::{instant, nanos, whole};
use crate::directory::audited::{Action, Audited};
use crate::directory::error::WriteError;
use crate::directory::note::Note;
use crate::directory::record::{AuditRecord, Writer};

/// What follows is `WHERE …`.
pub(super) const SELECT: &str = "SELECT seq, at, who, action, target, before, after FROM audit";

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
}

/// Enters what a write changed.
pub(super) fn enter<R: Audited>(
    connection: &Connection,
    by: &Writer,
    action: Action,
    before: Option<&R>,
    after: &R,
) -> Result<(), DatabaseError> {
    let says = [before.map(|record| record.says().to_string()), Some(after.says().to_string())];
    insert(connection, by, action, after.target(), says)
}

fn insert(
    connection: &Connection,
    by: &Writer,
    action: Action,
    target: &str,
    [before, after]: [Option<String>; 2],
) -> Result<(), DatabaseError> {
    let sql = "INSERT INTO audit (at, who, action, target, before, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.execute(sql, (nanos(by.now), &by.who, action.as_str(), target, before, after))?;
    Ok(())
}

pub(super) fn record(row: &Row<'_>) -> Result<AuditRecord, DatabaseError> {
    let seq = whole(row, 0)?;
    let value = |column| -> Result<Option<Value>, DatabaseError> {
        let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
        let nonsense = |_| DatabaseError::Nonsense(format!("audit entry {seq}"));
        serde_json::from_str(text).map(Some).map_err(nonsense)
    };
    Ok(AuditRecord {
        seq,
        at: instant(row, 1)?,
        who: row.get(2)?,
        action: row.get(3)?,
        target: row.get(4)?,
        before: value(5)?,
        after: value(6)?,
    })
}
