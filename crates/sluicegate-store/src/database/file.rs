//! The file: opening it, and keeping other processes out.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::DatabaseError;
use super::schema::{self, Owner};

/// How long to wait for a lock that another process holds for a moment, such as the `sqlite3` shell.
const BUSY_MAX: Duration = Duration::from_secs(2);

/// Pages kept in memory by a connection, in KiB (negative says so to SQLite).
const CACHE_KIB: i32 = -16 * 1024;

/// What a checkpoint makes of the log is given back to the disk, down to this.
const LOG_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// Its owner alone may read it: it holds hashes of keys.
const FILE_MODE: u32 = 0o600;

/// Held while the database is open. A second server on the same file would not see what the first one has in memory.
///
/// A file of its own: SQLite's locks on the database are lost when any descriptor of it is closed in this process.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(super) fn take(path: &Path) -> Result<Self, DatabaseError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let cannot =
            |why: std::io::Error| DatabaseError::CannotOpen { path: path.to_owned(), why: why.to_string() };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(FILE_MODE)
            .open(PathBuf::from(name));
        let file = file.map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(DatabaseError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(why)) => Err(cannot(why)),
        }
    }
}

/// The connection that writes. Makes the file if there is none.
pub(super) fn open_to_write(path: &Path) -> Result<Connection, DatabaseError> {
    let opening = |error| DatabaseError::opening(path, &error);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite would make it readable for everyone. If it cannot be made, SQLite says why.
    let _ = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path);
    let mut connection = Connection::open_with_flags(path, flags).map_err(opening)?;
    connection.busy_timeout(BUSY_MAX).map_err(opening)?;
    if schema::owner(&connection).map_err(opening)? == Owner::Other {
        return Err(DatabaseError::NotOurs { path: path.to_owned() });
    }
    settle(&connection).map_err(opening)?;
    schema::migrate(&mut connection)?;
    Ok(connection)
}

fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    // The log is on the disk before a commit returns: what was answered survives a loss of power.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)
}

/// A connection that reads what is committed. The file is there and has its tables.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, DatabaseError> {
    let opening = |error| DatabaseError::opening(path, &error);
    // Not read-only to SQLite: such a connection cannot clean up after a crash.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(opening)?;
    connection.busy_timeout(BUSY_MAX).map_err(opening)?;
    connection.pragma_update(None, "query_only", true).map_err(opening)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_waits_for_the_disk_and_references_are_checked() {
        let folder = tempfile::TempDir::new().unwrap();
        let connection = open_to_write(&folder.path().join("t.db")).unwrap();
        let pragma =
            |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).unwrap();
        // 2 is FULL: the log is synced at every commit.
        assert_eq!((pragma("synchronous"), pragma("foreign_keys")), (2, 1));
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn who_reads_cannot_write() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("t.db");
        let _writer = open_to_write(&path).unwrap();
        let reader = open_to_read(&path).unwrap();
        assert!(reader.execute("DELETE FROM audit", []).is_err());
        assert!(open_to_read(&folder.path().join("missing.db")).is_err());
    }
}
