//! The tables, and how a file of an older version gets them.

use rusqlite::Connection;

use super::{DatabaseError, audit};

/// `Toll`: what marks the file as ours.
const APPLICATION: u32 = 0x546f_6c6c;

/// What brings a file from one version to the next.
struct Migration {
    sql: &'static str,
    /// What SQL alone cannot do, in the same transaction.
    then: fn(&Connection) -> Result<(), DatabaseError>,
}

/// The first makes the tables of version 1. What was released is never edited; a change is a new entry.
const MIGRATIONS: [Migration; 9] = [
    Migration { sql: include_str!("schema/001.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/002.sql"), then: audit::link_all },
    Migration { sql: include_str!("schema/003.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/004.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/005.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/006.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/007.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/008.sql"), then: |_| Ok(()) },
    Migration { sql: include_str!("schema/009.sql"), then: |_| Ok(()) },
];

/// The version that this program writes.
#[expect(clippy::cast_possible_truncation, reason = "a short list")]
const KNOWN: u32 = MIGRATIONS.len() as u32;

/// Whose file it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Ours, or nobody's yet.
    Ours,
    /// Another program's.
    Other,
}

pub(super) fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
    let application: u32 = pragma(connection, "application_id")?;
    if application == APPLICATION {
        return Ok(Owner::Ours);
    }
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    let is_new = application == 0 && tables == 0 && pragma(connection, "user_version")? == 0;
    Ok(if is_new { Owner::Ours } else { Owner::Other })
}

/// Brings the tables to the version of this program.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), DatabaseError> {
    let found = pragma(connection, "user_version")?;
    if found > KNOWN {
        return Err(DatabaseError::Newer { found, known: KNOWN });
    }
    for (version, migration) in (1..).zip(MIGRATIONS).skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration.sql)?;
        (migration.then)(&transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Whether a file that is only read is of the version of this program.
pub(super) fn expect_known(connection: &Connection) -> Result<(), DatabaseError> {
    match pragma(connection, "user_version")? {
        KNOWN => Ok(()),
        found if found > KNOWN => Err(DatabaseError::Newer { found, known: KNOWN }),
        found => Err(DatabaseError::Older { found, known: KNOWN }),
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u32> {
    // Both are signed in the file, and mean what they mean bit by bit.
    connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map(i32::cast_unsigned)
}
