//! The rows of the audit log: each with a link that is made in the transaction that writes it.

use rusqlite::{Connection, OptionalExtension as _, Row};
use sluicegate_core::audit::{self, Entry, Head};
use sluicegate_core::digest::Digest;

use super::DatabaseError;
use super::column::whole;
use crate::audit::AuditEntry;

/// What follows is `WHERE …`.
pub(crate) const SELECT: &str = "SELECT seq, at, who, action, target, before, after, link FROM audit";

/// A row as it is.
pub(crate) fn entry(row: &Row<'_>) -> Result<AuditEntry, DatabaseError> {
    let seq = whole(row, 0)?;
    let read = || -> rusqlite::Result<AuditEntry> {
        Ok(AuditEntry {
            seq,
            at: whole(row, 1)?,
            who: row.get(2)?,
            action: row.get(3)?,
            target: row.get(4)?,
            before: row.get(5)?,
            after: row.get(6)?,
            link: Some(Digest(row.get(7)?)),
        })
    };
    read().map_err(|error| DatabaseError::Nonsense(format!("audit entry {seq}: {error}")))
}

/// Rows after this number, the oldest first.
pub(crate) fn after(connection: &Connection, seq: u64, rows: u16) -> Result<Vec<AuditEntry>, DatabaseError> {
    let mut statement = connection.prepare(&format!("{SELECT} WHERE seq > ?1 ORDER BY seq LIMIT ?2"))?;
    let mut found = statement.query((bounded(seq), rows))?;
    let mut entries = Vec::new();
    while let Some(row) = found.next()? {
        entries.push(entry(row)?);
    }
    Ok(entries)
}

/// Numbers of rows are never negative.
fn bounded(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// The last row and its link.
pub(crate) fn head(connection: &Connection) -> Result<Head, DatabaseError> {
    before(connection, u64::MAX)
}

/// The last row before this number.
fn before(connection: &Connection, seq: u64) -> Result<Head, DatabaseError> {
    let sql = "SELECT seq, link FROM audit WHERE seq < ?1 ORDER BY seq DESC LIMIT 1";
    let read = |row: &Row<'_>| Ok(Head { seq: whole(row, 0)?, link: Digest(row.get(1)?) });
    Ok(connection.query_row(sql, [bounded(seq)], read).optional()?.unwrap_or_default())
}

/// What a row is to say; its number is given, and its link made.
pub(crate) struct NewEntry<'e> {
    pub(crate) at: u64,
    pub(crate) who: &'e str,
    pub(crate) action: &'e str,
    pub(crate) target: &'e str,
    pub(crate) before: Option<&'e str>,
    pub(crate) after: Option<&'e str>,
}

/// Adds a row. One thread writes, in one transaction, so nothing comes between a row and the one it is linked to.
pub(crate) fn insert(connection: &Connection, new: &NewEntry<'_>) -> Result<(), DatabaseError> {
    let NewEntry { at, who, action, target, before, after } = *new;
    // Its number is part of its link, and only known now: it gives its place to the link at once.
    let sql = "INSERT INTO audit (at, who, action, target, before, after, link) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, x'') RETURNING seq";
    let values = (at.cast_signed(), who, action, target, before, after);
    let seq = connection.query_row(sql, values, |row| whole(row, 0))?;
    let entry = Entry { seq, at, who, action, target, before, after };
    let previous = self::before(connection, seq)?;
    set_link(connection, seq, audit::link(&previous.link, &entry))
}

fn set_link(connection: &Connection, seq: u64, link: Digest) -> Result<(), DatabaseError> {
    connection.execute("UPDATE audit SET link = ?2 WHERE seq = ?1", (bounded(seq), &link.0))?;
    Ok(())
}

/// Links the rows of a file that was written before rows had links.
pub(super) fn link_all(connection: &Connection) -> Result<(), DatabaseError> {
    let columns = SELECT.replace(", link FROM", ", zeroblob(32) FROM");
    let mut statement = connection.prepare(&format!("{columns} WHERE seq > ?1 ORDER BY seq LIMIT 1"))?;
    let mut head = Head::default();
    loop {
        let mut rows = statement.query([bounded(head.seq)])?;
        let Some(row) = rows.next()? else { return Ok(()) };
        let entry = entry(row)?;
        head = Head { seq: entry.seq, link: audit::link(&head.link, &entry.entry()) };
        set_link(connection, head.seq, head.link)?;
    }
}
