//! What fires and is resolved, each under the name of its subject.

use rusqlite::{Connection, OptionalExtension as _};
use sluicegate_core::time::Timestamp;

use super::{Alert, Alerts, Announced, News, Tell, embedded, outbox, text};
use crate::database::{Database, DatabaseError};
use crate::directory::StoreError;
use crate::redis;

impl Alerts {
    /// Puts the news into the list as something that goes on, unless its subject has one that does. When it fails, it
    /// may have been done; doing it again does no harm.
    pub async fn fire(&self, subject: &str, news: &News, tell: Tell) -> Result<Announced, StoreError> {
        match self {
            Self::Embedded(database) => Ok(fire(database, subject, news, tell).await?),
            Self::Shared(link) => Ok(redis::alerts::board::fire(link, subject, news, tell).await?),
        }
    }

    /// Notes that what the subject has in the list is over: what it says by now. Nothing if it has none.
    pub async fn resolve(
        &self,
        subject: &str,
        at: Timestamp,
        tell: Tell,
    ) -> Result<Option<News>, StoreError> {
        match self {
            Self::Embedded(database) => Ok(resolve(database, subject, at, tell).await?),
            Self::Shared(link) => Ok(redis::alerts::board::resolve(link, subject, at, tell).await?),
        }
    }

    /// Everything that goes on, by its subject.
    pub async fn firing(&self) -> Result<Vec<(String, Alert)>, StoreError> {
        match self {
            Self::Embedded(database) => Ok(database.read(all).await?),
            Self::Shared(link) => Ok(redis::alerts::board::firing(link).await?),
        }
    }

    /// What other nodes have not heard of yet: the first of it.
    pub async fn unshared(&self) -> Result<Option<Unshared>, StoreError> {
        match self {
            Self::Embedded(database) => Ok(database.read(first_unshared).await?),
            Self::Shared(_) => Ok(None),
        }
    }

    /// They have heard of it.
    pub async fn shared(&self, seq: u64) -> Result<(), StoreError> {
        if let Self::Embedded(database) = self {
            let forget = move |connection: &Connection| -> Result<(), DatabaseError> {
                connection.execute("DELETE FROM unshared WHERE seq = ?1", [seq.cast_signed()])?;
                Ok(())
            };
            database.write(forget, |()| {}).await?;
        }
        Ok(())
    }
}

/// Something that other nodes have not heard of yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unshared {
    /// Its place in line.
    pub seq: u64,
    /// Whose it is.
    pub subject: String,
    /// What it says.
    pub news: News,
}

async fn fire(
    database: &Database,
    subject: &str,
    news: &News,
    tell: Tell,
) -> Result<Announced, DatabaseError> {
    let (subject, news) = (subject.to_owned(), news.clone());
    database.write(move |connection| insert(connection, &subject, &news, tell), |_| {}).await
}

fn insert(
    connection: &Connection,
    subject: &str,
    news: &News,
    tell: Tell,
) -> Result<Announced, DatabaseError> {
    let known: u32 =
        connection
            .query_row("SELECT count(*) FROM firing WHERE subject = ?1", [subject], |row| row.get(0))?;
    if known > 0 {
        return Ok(Announced::Before);
    }
    let body = text::write(news);
    let seq = embedded::put(connection, &body)?;
    connection
        .execute("INSERT INTO firing (subject, seq, body) VALUES (?1, ?2, ?3)", (subject, seq, &body))?;
    tell_of(connection, subject, news, tell)?;
    Ok(Announced::Now)
}

async fn resolve(
    database: &Database,
    subject: &str,
    at: Timestamp,
    tell: Tell,
) -> Result<Option<News>, DatabaseError> {
    let subject = subject.to_owned();
    database.write(move |connection| end(connection, &subject, at, tell), |_| {}).await
}

fn end(
    connection: &Connection,
    subject: &str,
    at: Timestamp,
    tell: Tell,
) -> Result<Option<News>, DatabaseError> {
    let gone = "DELETE FROM firing WHERE subject = ?1 RETURNING seq, body";
    let gone: Option<(i64, String)> =
        connection.query_row(gone, [subject], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((seq, body)) = gone else { return Ok(None) };
    let nonsense = || DatabaseError::Nonsense(format!("alert {seq}"));
    let news = News { resolved_at: Some(at), ..text::read(&body).ok_or_else(nonsense)? };
    connection.execute("UPDATE alerts SET body = ?2 WHERE seq = ?1", (seq, text::write(&news)))?;
    tell_of(connection, subject, &news, tell)?;
    Ok(Some(news))
}

fn tell_of(connection: &Connection, subject: &str, news: &News, tell: Tell) -> Result<(), DatabaseError> {
    if tell.post {
        outbox::put(connection, news)?;
    }
    if tell.nodes {
        let line = "INSERT INTO unshared (subject, body) VALUES (?1, ?2)";
        connection.execute(line, (subject, text::write(news)))?;
    }
    Ok(())
}

fn all(connection: &Connection) -> Result<Vec<(String, Alert)>, DatabaseError> {
    let mut statement = connection.prepare("SELECT subject, seq, body FROM firing")?;
    let mut rows = statement.query([])?;
    let mut firing = Vec::new();
    while let Some(row) = rows.next()? {
        let (subject, seq, body): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        firing.push((subject, embedded::alert(seq, &body)?));
    }
    Ok(firing)
}

fn first_unshared(connection: &Connection) -> Result<Option<Unshared>, DatabaseError> {
    let first = "SELECT seq, subject, body FROM unshared ORDER BY seq LIMIT 1";
    let row: Option<(i64, String, String)> =
        connection.query_row(first, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    let Some((seq, subject, body)) = row else { return Ok(None) };
    let Alert { seq, news } = embedded::alert(seq, &body)?;
    Ok(Some(Unshared { seq, subject, news }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::{AlertKind, AlertState, Which};
    use crate::directory::Page;

    const POSTED: Tell = Tell { post: true, nodes: false };

    fn news(id: &str) -> News {
        let kind = AlertKind::RefusalsShare { refused: 6, requests: 100 };
        News { id: id.to_owned(), at: Timestamp::from_secs(1_790_000_000), resolved_at: None, kind }
    }

    fn alerts(dir: &tempfile::TempDir) -> Alerts {
        Alerts::Embedded(Database::open(&dir.path().join("t.db")).unwrap())
    }

    #[tokio::test]
    async fn a_subject_fires_once_until_it_is_resolved_and_then_again_across_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let later = Timestamp::from_secs(1_790_000_100);
        let first = alerts(&dir);
        assert_eq!(first.fire("a", &news("alr_1"), POSTED).await.unwrap(), Announced::Now);
        assert_eq!(first.fire("a", &news("alr_2"), POSTED).await.unwrap(), Announced::Before);
        assert_eq!(first.fire("b", &news("alr_3"), POSTED).await.unwrap(), Announced::Now);
        drop(first);
        let again = alerts(&dir);
        assert_eq!(again.fire("a", &news("alr_4"), POSTED).await.unwrap(), Announced::Before);
        let over = again.resolve("a", later, POSTED).await.unwrap().unwrap();
        assert_eq!((over.id.as_str(), over.resolved_at), ("alr_1", Some(later)));
        assert_eq!(again.resolve("a", later, POSTED).await.unwrap(), None);
        assert_eq!(again.fire("a", &news("alr_5"), POSTED).await.unwrap(), Announced::Now);
        let ids = async |which| -> Vec<String> {
            let listed = again.list(Page::default(), which).await.unwrap();
            listed.items.into_iter().map(|alert| alert.news.id).collect()
        };
        assert_eq!(ids(Which::All).await, ["alr_5", "alr_3", "alr_1"]);
        assert_eq!(ids(Which::In(AlertState::Firing)).await, ["alr_5", "alr_3"]);
        assert_eq!(ids(Which::In(AlertState::Resolved)).await, ["alr_1"]);
        let mut told = Vec::new();
        while let Some(letter) = again.letter().await.unwrap() {
            told.push((letter.news.id.clone(), letter.news.state()));
            again.delivered(letter.seq, later).await.unwrap();
        }
        let told: Vec<(&str, AlertState)> = told.iter().map(|(id, state)| (id.as_str(), *state)).collect();
        let (firing, resolved) = (AlertState::Firing, AlertState::Resolved);
        assert_eq!(told, [("alr_1", firing), ("alr_3", firing), ("alr_1", resolved), ("alr_5", firing)]);
        assert_eq!(again.posted().await.unwrap().delivered, 4);
    }

    #[tokio::test]
    async fn what_other_nodes_should_hear_waits_in_order_until_they_have() {
        let dir = tempfile::tempdir().unwrap();
        let alerts = alerts(&dir);
        let tell = Tell { post: false, nodes: true };
        alerts.fire("a", &news("alr_1"), tell).await.unwrap();
        alerts.resolve("a", Timestamp::from_secs(1_790_000_100), tell).await.unwrap();
        let mut heard = Vec::new();
        while let Some(unshared) = alerts.unshared().await.unwrap() {
            heard.push((unshared.subject, unshared.news.state()));
            alerts.shared(unshared.seq).await.unwrap();
        }
        assert_eq!(heard, [("a".to_owned(), AlertState::Firing), ("a".to_owned(), AlertState::Resolved)]);
        assert_eq!(alerts.letter().await.unwrap(), None);
    }
}
