//! Alerts in a Redis that several nodes share.
//!
//! A mark lies in the slot of its home, the list in one of its own, so that they cannot be written in one step. The mark
//! is written first and holds the alert until that is in the list. The list is a sorted set of the very texts, so that
//! the same alert put there again, by whoever finds such a mark, is there once.

use std::time::Duration;

use redis::{Cmd, FromRedisValue, cmd};
use tokio::time::Instant;
use tollgate_core::time::{Nanos, Timestamp};

use super::link::{Link, QueryError};
use crate::alerts::{ALERTS_MAX, Alert, Announced, Mark, News, text};
use crate::directory::{Page, Paged, RedisError};

/// A sorted set: each alert behind its number, by that number.
const LIST: &str = "tg1:{alerts}:list";
/// A hash: the last number.
const STATE: &str = "tg1:{alerts}:state";
/// What a mark holds whose alert is in the list.
const DONE: &str = "done";
/// How long an answer may take: nobody's request is held up by it.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The least that a mark lives: what is announced late is announced once too.
const LIFE_MIN: Nanos = Nanos::from_secs(3_600);
/// How often it is tried to find out who was first.
const TRIES: u32 = 3;

pub(crate) async fn announce(
    link: &Link,
    mark: &Mark,
    news: &News,
    now: Timestamp,
) -> Result<Announced, RedisError> {
    let key = key_of(mark);
    for _ in 0..TRIES {
        let found: Option<String> = ask(link, cmd("GET").arg(&key)).await?;
        match found.as_deref() {
            Some(DONE) => return Ok(Announced::Before),
            Some(pending) => {
                publish(link, &key, pending).await?;
                return Ok(Announced::Before);
            }
            None => {}
        }
        let seq: u64 = ask(link, cmd("HINCRBY").arg(STATE).arg("last").arg(1)).await?;
        let pending = format!("{seq} {}", text::write(news));
        let mut set = cmd("SET");
        set.arg(&key).arg(&pending).arg("NX").arg("PX").arg(life_ms(mark, now));
        if ask::<Option<String>>(link, &set).await?.is_some() {
            publish(link, &key, &pending).await?;
            return Ok(Announced::Now);
        }
    }
    Err(RedisError::Contended)
}

/// Puts an alert into the list, and notes that it is there.
async fn publish(link: &Link, key: &str, pending: &str) -> Result<(), RedisError> {
    let nonsense = || RedisError::Nonsense(format!("the mark {key}"));
    let (seq, _) = pending.split_once(' ').ok_or_else(nonsense)?;
    let _: u64 = ask(link, cmd("ZADD").arg(LIST).arg(seq).arg(pending)).await?;
    let _: u64 = ask(link, cmd("ZREMRANGEBYRANK").arg(LIST).arg(0).arg(-1 - i64::from(ALERTS_MAX))).await?;
    let _: Option<String> = ask(link, cmd("SET").arg(key).arg(DONE).arg("XX").arg("KEEPTTL")).await?;
    Ok(())
}

/// Marks that slide are gone when their window is; those of a period say by their name which one.
fn life_ms(mark: &Mark, now: Timestamp) -> u64 {
    let left = mark.until.since(now);
    if mark.period == 0 { left.as_millis_ceil().max(1) } else { left.max(LIFE_MIN).as_millis_ceil() }
}

fn key_of(mark: &Mark) -> String {
    let Mark { home, limit, sharer, amount, threshold, period, .. } = mark;
    format!("tg1:{{{:032x}}}:once:{limit}:{sharer}:{amount}:{threshold}:{period}", home.0)
}

pub(crate) async fn list(link: &Link, page: Page) -> Result<Paged<Alert>, RedisError> {
    let mut newest_first = cmd("ZRANGE");
    newest_first.arg(LIST).arg(format!("({}", page.after(u64::MAX))).arg("-inf").arg("BYSCORE").arg("REV");
    newest_first.arg("LIMIT").arg(0).arg(page.rows());
    let rows: Vec<String> = ask(link, &newest_first).await?;
    let alert = |row: String| {
        let (seq, body) = row.split_once(' ')?;
        Some(Alert { seq: seq.parse().ok()?, news: text::read(body)? })
    };
    let items: Option<Vec<Alert>> = rows.into_iter().map(alert).collect();
    let items = items.ok_or_else(|| RedisError::Nonsense("an alert".to_owned()))?;
    Ok(page.of(items, |alert| alert.seq))
}

async fn ask<T: FromRedisValue>(link: &Link, command: &Cmd) -> Result<T, RedisError> {
    link.query_before(command, Instant::now() + PATIENCE).await.map_err(|error| match error {
        QueryError::NotSent => RedisError::Away("it is not connected".to_owned()),
        QueryError::Unknown(why) => RedisError::Away(why),
        QueryError::Refused(answer) => RedisError::Refused(answer.to_string()),
        QueryError::Garbled(why) => RedisError::Nonsense(why),
    })
}
