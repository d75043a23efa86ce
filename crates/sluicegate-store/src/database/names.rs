//! Small things that are kept: names as numbers, and values under keys.

use rusqlite::{Connection, OptionalExtension as _};

use super::{Database, DatabaseError, Pending};

impl Database {
    /// The number that stands for this name in records, for ever; never 0. Given again, it is the same.
    pub fn intern(&self, name: &str) -> Pending<u32> {
        let name = name.to_owned();
        self.write(move |connection| intern(connection, &name), |_| {})
    }

    /// Every name that has a number, in the order of the numbers.
    pub fn names(&self) -> Result<Vec<(u32, String)>, DatabaseError> {
        let connection = self.connect()?;
        let mut statement = connection.prepare("SELECT number, name FROM names ORDER BY number")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Whether there was ever an account in it.
    pub(crate) fn holds_accounts(&self) -> Result<bool, DatabaseError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM accounts)";
        Ok(self.connect()?.query_row(sql, [], |row| row.get(0))?)
    }

    /// The value kept under this key.
    pub fn meta(&self, key: &str) -> Result<Option<Vec<u8>>, DatabaseError> {
        meta(&self.connect()?, key)
    }

    /// Keeps a value under a key.
    pub fn set_meta(&self, key: &str, value: Vec<u8>) -> Pending<()> {
        let key = key.to_owned();
        self.write(move |connection| set_meta(connection, &key, &value), |()| {})
    }
}

fn intern(connection: &Connection, name: &str) -> Result<u32, DatabaseError> {
    let known = connection.query_row("SELECT number FROM names WHERE name = ?1", [name], |row| row.get(0));
    if let Some(number) = known.optional()? {
        return Ok(number);
    }
    let sql = "INSERT INTO names (name) VALUES (?1) RETURNING number";
    Ok(connection.query_row(sql, [name], |row| row.get(0))?)
}

pub(super) fn meta(connection: &Connection, key: &str) -> Result<Option<Vec<u8>>, DatabaseError> {
    let value = connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0));
    Ok(value.optional()?)
}

pub(super) fn set_meta(connection: &Connection, key: &str, value: &[u8]) -> Result<(), DatabaseError> {
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", (key, value))?;
    Ok(())
}
