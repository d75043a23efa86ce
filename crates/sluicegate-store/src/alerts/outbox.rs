//! What waits to be delivered, in order, and how delivering goes.

use rusqlite::{Connection, OptionalExtension as _};
use sluicegate_core::time::Timestamp;

use super::{Alerts, News, embedded, text};
use crate::database::column::{instant_or_null, nanos, whole};
use crate::database::{Database, DatabaseError};
use crate::directory::StoreError;
use crate::redis;

/// How many letters wait at the most. Beyond it the oldest are dropped, and counted.
pub const OUTBOX_MAX: u32 = 10_000;

/// Something to be delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Letter {
    /// Its place in line.
    pub seq: u64,
    /// What it says.
    pub news: News,
}

/// How delivering goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Posted {
    /// How many wait.
    pub pending: u64,
    /// How many were delivered.
    pub delivered: u64,
    /// How many were given up, or pushed out by later ones.
    pub dropped: u64,
    /// Why the last try failed; nothing if it did not.
    pub last_error: Option<String>,
    /// When the last try was.
    pub last_at: Option<Timestamp>,
}

impl Alerts {
    /// The first that waits.
    pub async fn letter(&self) -> Result<Option<Letter>, StoreError> {
        match self {
            Self::Embedded(database) => Ok(database.read(first).await?),
            Self::Shared(link) => Ok(redis::alerts::outbox::first(link).await?),
        }
    }

    /// It was delivered, and waits no longer.
    pub async fn delivered(&self, seq: u64, now: Timestamp) -> Result<(), StoreError> {
        match self {
            Self::Embedded(database) => Ok(delivered(database, seq, now).await?),
            Self::Shared(link) => Ok(redis::alerts::outbox::delivered(link, seq, now).await?),
        }
    }

    /// The first could not be delivered, and waits on.
    pub async fn not_delivered(&self, why: &str, now: Timestamp) -> Result<(), StoreError> {
        match self {
            Self::Embedded(database) => Ok(not_delivered(database, why.to_owned(), now).await?),
            Self::Shared(link) => Ok(redis::alerts::outbox::not_delivered(link, why, now).await?),
        }
    }

    /// Drops all that happened before this, and says how many that were.
    pub async fn give_up(&self, before: Timestamp) -> Result<u64, StoreError> {
        match self {
            Self::Embedded(database) => Ok(give_up(database, before).await?),
            Self::Shared(link) => Ok(redis::alerts::outbox::give_up(link, before).await?),
        }
    }

    /// How delivering goes.
    pub async fn posted(&self) -> Result<Posted, StoreError> {
        match self {
            Self::Embedded(database) => Ok(database.read(posted).await?),
            Self::Shared(link) => Ok(redis::alerts::outbox::posted(link).await?),
        }
    }
}

/// Puts news into the outbox, in the transaction that is open.
pub(super) fn put(connection: &Connection, news: &News) -> Result<(), DatabaseError> {
    let insert = "INSERT INTO outbox (at, body) VALUES (?1, ?2)";
    connection.execute(insert, (nanos(news.told_at()), text::write(news)))?;
    let oldest =
        "DELETE FROM outbox WHERE seq <= (SELECT seq FROM outbox ORDER BY seq DESC LIMIT 1 OFFSET ?1)";
    let dropped = connection.execute(oldest, [OUTBOX_MAX])?;
    count_dropped(connection, dropped)?;
    Ok(())
}

fn count_dropped(connection: &Connection, dropped: usize) -> Result<u64, DatabaseError> {
    let dropped = dropped as u64;
    if dropped > 0 {
        let count = "UPDATE outbox_state SET dropped = dropped + ?1";
        connection.execute(count, [dropped.cast_signed()])?;
    }
    Ok(dropped)
}

fn first(connection: &Connection) -> Result<Option<Letter>, DatabaseError> {
    let first = "SELECT seq, body FROM outbox ORDER BY seq LIMIT 1";
    let row: Option<(i64, String)> =
        connection.query_row(first, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((seq, body)) = row else { return Ok(None) };
    let alert = embedded::alert(seq, &body)?;
    Ok(Some(Letter { seq: alert.seq, news: alert.news }))
}

async fn delivered(database: &Database, seq: u64, now: Timestamp) -> Result<(), DatabaseError> {
    let done = move |connection: &Connection| -> Result<(), DatabaseError> {
        let gone = connection.execute("DELETE FROM outbox WHERE seq = ?1", [seq.cast_signed()])?;
        let count = "UPDATE outbox_state SET delivered = delivered + ?1, last_error = NULL, last_at = ?2";
        connection.execute(count, (u32::from(gone > 0), nanos(now)))?;
        Ok(())
    };
    database.write(done, |()| {}).await
}

async fn not_delivered(database: &Database, why: String, now: Timestamp) -> Result<(), DatabaseError> {
    let note = move |connection: &Connection| -> Result<(), DatabaseError> {
        connection.execute("UPDATE outbox_state SET last_error = ?1, last_at = ?2", (why, nanos(now)))?;
        Ok(())
    };
    database.write(note, |()| {}).await
}

async fn give_up(database: &Database, before: Timestamp) -> Result<u64, DatabaseError> {
    let drop = move |connection: &Connection| -> Result<u64, DatabaseError> {
        let dropped = connection.execute("DELETE FROM outbox WHERE at < ?1", [nanos(before)])?;
        count_dropped(connection, dropped)
    };
    database.write(drop, |_| {}).await
}

fn posted(connection: &Connection) -> Result<Posted, DatabaseError> {
    let all =
        "SELECT (SELECT count(*) FROM outbox), delivered, dropped, last_error, last_at FROM outbox_state";
    let posted = connection.query_row(all, [], |row| {
        Ok(Posted {
            pending: whole(row, 0)?,
            delivered: whole(row, 1)?,
            dropped: whole(row, 2)?,
            last_error: row.get(3)?,
            last_at: instant_or_null(row, 4)?,
        })
    })?;
    Ok(posted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::AlertKind;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(1_790_000_000 + secs)
    }

    fn put_at(connection: &Connection, secs: u32) {
        let kind = AlertKind::LedgerDrift { quotas: 1, units: secs.into() };
        let news = News { id: format!("alr_{secs}"), at: at(secs), resolved_at: None, kind };
        put(connection, &news).unwrap();
    }

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../database/schema/005.sql")).unwrap();
        connection
    }

    #[test]
    fn beyond_the_most_the_oldest_are_dropped_and_counted() {
        let database = database();
        for secs in 0..OUTBOX_MAX + 3 {
            put_at(&database, secs);
        }
        let now = posted(&database).unwrap();
        assert_eq!((now.pending, now.dropped), (u64::from(OUTBOX_MAX), 3));
        assert_eq!(first(&database).unwrap().unwrap().news.id, "alr_3");
    }

    #[tokio::test]
    async fn what_is_too_old_is_given_up_and_the_rest_goes_on_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::open(&dir.path().join("t.db")).unwrap();
        let fill = |connection: &Connection| -> Result<(), DatabaseError> {
            [1, 2, 3].into_iter().for_each(|secs| put_at(connection, secs));
            Ok(())
        };
        database.write(fill, |()| {}).await.unwrap();
        let alerts = Alerts::Embedded(database);
        alerts.not_delivered("it answered 500", at(5)).await.unwrap();
        assert_eq!(alerts.give_up(at(3)).await.unwrap(), 2);
        let posted = alerts.posted().await.unwrap();
        let failed = Some("it answered 500".to_owned());
        let expected =
            Posted { pending: 1, delivered: 0, dropped: 2, last_error: failed, last_at: Some(at(5)) };
        assert_eq!(posted, expected);
        let letter = alerts.letter().await.unwrap().unwrap();
        assert_eq!(letter.news.id, "alr_3");
        alerts.delivered(letter.seq, at(6)).await.unwrap();
        // Told twice that it was, it counts once.
        alerts.delivered(letter.seq, at(7)).await.unwrap();
        let posted = alerts.posted().await.unwrap();
        assert_eq!((posted.pending, posted.delivered, posted.last_error), (0, 1, None));
    }
}
