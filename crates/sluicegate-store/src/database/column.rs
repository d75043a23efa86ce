//! Values as SQLite keeps them: whole numbers of 64 bits bit by bit, wider ones as bytes in order.

use rusqlite::Row;
use sluicegate_core::time::Timestamp;

pub(crate) const fn nanos(at: Timestamp) -> i64 {
    at.as_nanos().cast_signed()
}

pub(crate) fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    whole(row, column).map(Timestamp::from_nanos)
}

pub(crate) fn instant_or_null(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let nanos: Option<i64> = row.get(column)?;
    Ok(nanos.map(|nanos| Timestamp::from_nanos(nanos.cast_unsigned())))
}

pub(crate) fn whole(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

pub(super) fn wide(row: &Row<'_>, column: usize) -> rusqlite::Result<u128> {
    row.get::<_, [u8; 16]>(column).map(u128::from_be_bytes)
}
