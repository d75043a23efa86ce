//! Alerts in the database of this process: the mark and the alert are one transaction.

use rusqlite::Connection;
use sluicegate_core::time::Timestamp;

use super::{ALERTS_MAX, Alert, Announced, Mark, News, Tell, Which, outbox, text};
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
    tell: Tell,
    now: Timestamp,
) -> Result<Announced, DatabaseError> {
    let news = news.clone();
    database.write(move |connection| insert(connection, &mark, &news, tell, now), |_| {}).await
}

fn insert(
    connection: &Connection,
    mark: &Mark,
    news: &News,
    tell: Tell,
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
    put(connection, &text::write(news))?;
    connection.execute("DELETE FROM announced WHERE until <= ?1", [nanos(now)])?;
    if tell.post {
        outbox::put(connection, news)?;
    }
    Ok(Announced::Now)
}

/// Puts an alert into the list, and says under which number.
pub(super) fn put(connection: &Connection, body: &str) -> Result<i64, DatabaseError> {
    connection.execute("INSERT INTO alerts (body) VALUES (?1)", [body])?;
    let seq = connection.last_insert_rowid();
    let oldest =
        "DELETE FROM alerts WHERE seq <= (SELECT seq FROM alerts ORDER BY seq DESC LIMIT 1 OFFSET ?1)
        AND seq NOT IN (SELECT seq FROM firing)";
    connection.execute(oldest, [ALERTS_MAX])?;
    Ok(seq)
}

pub(super) async fn list(
    database: &Database,
    page: Page,
    which: Which,
) -> Result<Paged<Alert>, DatabaseError> {
    database.read(move |connection| read(connection, page, which)).await
}

fn read(connection: &Connection, page: Page, which: Which) -> Result<Paged<Alert>, DatabaseError> {
    let mut statement =
        connection.prepare("SELECT seq, body FROM alerts WHERE seq < ?1 ORDER BY seq DESC")?;
    let mut rows = statement.query([page.after(u64::MAX)])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, body): (i64, String) = (row.get(0)?, row.get(1)?);
        let alert = alert(seq, &body)?;
        if which.has(&alert.news) {
            items.push(alert);
        }
        if items.len() as u64 >= u64::from(page.rows()) {
            break;
        }
    }
    Ok(page.of(items, |alert| alert.seq))
}

/// The alert that was kept as this.
pub(super) fn alert(seq: i64, body: &str) -> Result<Alert, DatabaseError> {
    let nonsense = || DatabaseError::Nonsense(format!("alert {seq}"));
    Ok(Alert { seq: seq.cast_unsigned(), news: text::read(body).ok_or_else(nonsense)? })
}

#[cfg(test)]
mod tests {
    use sluicegate_core::limit::LimitName;
    use sluicegate_core::plan::HomeId;

    use super::*;
    use crate::alerts::{AlertKind, QuotaUse};
    use crate::directory::PageLimit;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(1_790_000_000 + secs)
    }

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../database/schema/004.sql")).unwrap();
        connection.execute_batch(include_str!("../database/schema/005.sql")).unwrap();
        connection
    }

    fn mark(home: u128, until: Timestamp) -> Mark {
        let limit = LimitName::new("quota").unwrap();
        Mark { home: HomeId(home), limit, sharer: 0, amount: 10, threshold: 1, period: 0, until }
    }

    fn news(used: u64) -> News {
        let quota = QuotaUse {
            account: "acme".to_owned(),
            limit: "quota".to_owned(),
            key: None,
            used,
            amount: 10,
            period_end: None,
        };
        let kind = AlertKind::QuotaOverage(quota);
        News { id: format!("alr_{used}"), at: at(0), resolved_at: None, kind }
    }

    #[test]
    fn what_is_marked_is_announced_again_when_the_mark_has_ended_and_not_before() {
        let database = database();
        let announce = |mark: Mark, now| insert(&database, &mark, &news(1), Tell::NOBODY, now).unwrap();
        assert_eq!(announce(mark(1, at(60)), at(0)), Announced::Now);
        assert_eq!(announce(mark(1, at(119)), at(59)), Announced::Before);
        for other in [
            mark(2, at(60)),
            Mark { sharer: 1, ..mark(1, at(60)) },
            Mark { amount: 11, ..mark(1, at(60)) },
            Mark { threshold: 2, ..mark(1, at(60)) },
            Mark { period: 9, ..mark(1, at(60)) },
        ] {
            assert_eq!(announce(other, at(59)), Announced::Now);
        }
        assert_eq!(announce(mark(1, at(120)), at(60)), Announced::Now);
        let left: u32 = database.query_row("SELECT count(*) FROM announced", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "marks that have ended are forgotten");
    }

    #[test]
    fn the_last_thousand_are_kept_and_listed_from_the_newest() {
        let database = database();
        for number in 1..=1_007 {
            let mark = mark(number.into(), at(60));
            let marked = insert(&database, &mark, &news(number), Tell::NOBODY, at(0)).unwrap();
            assert_eq!(marked, Announced::Now);
        }
        let mut page = Page { limit: PageLimit::new(300).unwrap(), cursor: None };
        let mut seen = Vec::new();
        loop {
            let part = read(&database, page, Which::All).unwrap();
            seen.extend(part.items.into_iter().map(|alert| alert.seq));
            if part.next.is_none() {
                break;
            }
            page.cursor = part.next;
        }
        assert_eq!(seen, (8..=1_007).rev().collect::<Vec<u64>>());
    }
}
