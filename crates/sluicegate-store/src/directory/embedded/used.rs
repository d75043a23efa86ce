//! When keys were last used, in the database.

use rusqlite::{Connection, OptionalExtension as _};
use sluicegate_core::time::Timestamp;

use super::Embedded;
use crate::database::DatabaseError;
use crate::database::column::{instant_or_null, nanos};
use crate::directory::used::minute_began;

impl Embedded {
    pub(crate) async fn write_used(&self, used: Vec<(u64, u32)>) -> Result<(), DatabaseError> {
        let run = move |connection: &Connection| -> Result<(), DatabaseError> {
            let sql = "UPDATE keys SET last_used_at = ?2 \
                       WHERE serial = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
            let mut statement = connection.prepare(sql)?;
            for (serial, minute) in used {
                statement.execute((serial.cast_signed(), nanos(minute_began(minute))))?;
            }
            Ok(())
        };
        self.database.write(run, |&()| ()).await
    }

    pub(crate) async fn read_used(&self, serials: Vec<u64>) -> Result<Vec<Option<Timestamp>>, DatabaseError> {
        let run = move |connection: &Connection| -> Result<Vec<Option<Timestamp>>, DatabaseError> {
            let mut statement = connection.prepare("SELECT last_used_at FROM keys WHERE serial = ?1")?;
            let mut used = Vec::with_capacity(serials.len());
            for serial in serials {
                let found = statement.query_row([serial.cast_signed()], |row| instant_or_null(row, 0));
                used.push(found.optional()?.flatten());
            }
            Ok(used)
        };
        self.database.read(run).await
    }
}
