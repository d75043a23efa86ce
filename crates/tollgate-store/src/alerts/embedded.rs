//! Alerts in the database of this process: the mark and the alert are one transaction.

use rusqlite::Connection;
use tollgate_core::time::Timestamp;

use super::{ALERTS_MAX, Alert, Announced, Mark, News, text};
use crate::database::column::nanos;
use crate::database::{Database, DatabaseError};
use crate::directory::{Page, Paged};

const MARK: &str = "INSERT INTO announced (home, limit_name, sharer, amount, threshold, period, until)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT DO UPDATE SET until = excluded.until WHERE announced.until <= ?8";

pub(super) async fn announce(
    database: &Database,
    mark: Mark,
    news: &News,
    now: Timestamp,
) -> Result<Announced, DatabaseError> {
    let body = text::write(news);
    database.write(move |connection| insert(connection, &mark, &body, now), |_| {}).await
}

fn insert(
    connection: &Connection,
    mark: &Mark,
    body: &str,
    now: Timestamp,
) -> Result<Announced, DatabaseError> {
    let (home, amount) = (mark.home.0.to_be_bytes(), mark.amount.cast_signed());
    let marked = connection.prepare(MARK)?.execute((
        home,
        mark.limit.as_str(),
        mark.sharer,
        amount,
        mark.threshold,
        mark.period,
        nanos(mark.until),
        nanos(now),
    ))?;
    if marked == 0 {
        return Ok(Announced::Before);
    }
    connection.execute("INSERT INTO alerts (body) VALUES (?1)", [body])?;
    let oldest =
        "DELETE FROM alerts WHERE seq <= (SELECT seq FROM alerts ORDER BY seq DESC LIMIT 1 OFFSET ?1)";
    connection.execute(oldest, [ALERTS_MAX])?;
    connection.execute("DELETE FROM announced WHERE until <= ?1", [nanos(now)])?;
    Ok(Announced::Now)
}

pub(super) async fn list(database: &Database, page: Page) -> Result<Paged<Alert>, DatabaseError> {
    database.read(move |connection| read(connection, page)).await
}

fn read(connection: &Connection, page: Page) -> Result<Paged<Alert>, DatabaseError> {
    let mut statement =
        connection.prepare("SELECT seq, body FROM alerts WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2")?;
    let mut rows = statement.query((page.after(u64::MAX), page.rows()))?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, body): (i64, String) = (row.get(0)?, row.get(1)?);
        let nonsense = || DatabaseError::Nonsense(format!("alert {seq}"));
        items.push(Alert { seq: seq.cast_unsigned(), news: text::read(&body).ok_or_else(nonsense)? });
    }
    Ok(page.of(items, |alert| alert.seq))
}
