//! Alerts in a Redis that several nodes share.
//!
//! A mark lies in the slot of its home, the list in one of its own, so that they cannot be written in one step. The
//! mark is written first and holds the alert until that is in the list. The list is a sorted set of the very texts,
//! so that the same alert put there again, by whoever finds such a mark, is there once.

pub(crate) mod board;
pub mod counts;
pub(crate) mod outbox;
mod script;

use std::time::Duration;

use crate::redis::driver::{Cmd, FromRedisValue, cmd};
use sluicegate_core::time::{Nanos, Timestamp};
use tokio::time::Instant;

use super::link::{Link, QueryError};
use crate::alerts::{ALERTS_MAX, Alert, Announced, Mark, News, OUTBOX_MAX, Tell, Which, text};
use crate::directory::{Page, Paged, RedisError};

/// A sorted set: each alert behind its number, by that number.
const LIST: &str = "sg1:{alerts}:list";
/// A hash: the last numbers, and how delivering goes.
const STATE: &str = "sg1:{alerts}:state";
/// A hash: the alert that goes on behind its number, by its subject.
const FIRING: &str = "sg1:{alerts}:firing";
/// A sorted set: what is to be delivered, behind its place in line and when it happened, by that place.
const OUTBOX: &str = "sg1:{alerts}:outbox";
/// A hash: the id of the last alert that a node told others of, by its subject.
const TOLD: &str = "sg1:{alerts}:told";
/// What scripts are given, in their order.
const KEYS: [&str; 5] = [LIST, STATE, FIRING, OUTBOX, TOLD];
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
    tell: Tell,
    now: Timestamp,
) -> Result<Announced, RedisError> {
    let key = key_of(mark);
    for _ in 0..TRIES {
        let found: Option<String> = ask(link, cmd("GET").arg(&key)).await?;
        match found.as_deref() {
            Some(DONE) => return Ok(Announced::Before),
            Some(pending) => {
                publish(link, &key, pending, tell).await?;
                return Ok(Announced::Before);
            }
            None => {}
        }
        let seq: u64 = ask(link, cmd("HINCRBY").arg(STATE).arg("last").arg(1)).await?;
        let pending = format!("{seq} {}", text::write(news));
        let mut set = cmd("SET");
        set.arg(&key).arg(&pending).arg("NX").arg("PX").arg(life_ms(mark, now));
        if ask::<Option<String>>(link, &set).await?.is_some() {
            publish(link, &key, &pending, tell).await?;
            return Ok(Announced::Now);
        }
    }
    Err(RedisError::Contended)
}

/// Puts an alert into the list, and notes that it is there.
async fn publish(link: &Link, key: &str, pending: &str, tell: Tell) -> Result<(), RedisError> {
    let nonsense = || RedisError::Nonsense(format!("the mark {key}"));
    let (seq, body) = pending.split_once(' ').ok_or_else(nonsense)?;
    let at = text::read(body).ok_or_else(nonsense)?.told_at();
    let letter = if tell.post { body } else { "" };
    let arguments = [seq, pending, &ALERTS_MAX.to_string(), letter, &digits(at), &OUTBOX_MAX.to_string()];
    let _: u64 = script::run(link, &script::NOTE, &KEYS, &arguments).await?;
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
    format!("sg1:{{{:032x}}}:once:{limit}:{sharer}:{amount}:{threshold}:{period}", home.0)
}

/// An instant as text that sorts as it does.
fn digits(at: Timestamp) -> String {
    format!("{:020}", at.as_nanos())
}

pub(crate) async fn list(link: &Link, page: Page, which: Which) -> Result<Paged<Alert>, RedisError> {
    let mut newest_first = cmd("ZRANGE");
    newest_first.arg(LIST).arg(format!("({}", page.after(u64::MAX))).arg("-inf").arg("BYSCORE").arg("REV");
    let rows = if which == Which::All { page.rows() } else { ALERTS_MAX };
    newest_first.arg("LIMIT").arg(0).arg(rows);
    let rows: Vec<String> = ask(link, &newest_first).await?;
    let items: Option<Vec<Alert>> = rows.iter().map(|row| alert(row)).collect();
    let mut items = items.ok_or_else(|| RedisError::Nonsense("an alert".to_owned()))?;
    items.retain(|alert| which.has(&alert.news));
    Ok(page.of(items, |alert| alert.seq))
}

/// The alert behind its number.
fn alert(row: &str) -> Option<Alert> {
    let (seq, body) = row.split_once(' ')?;
    Some(Alert { seq: seq.parse().ok()?, news: text::read(body)? })
}

async fn ask<T: FromRedisValue>(link: &Link, command: &Cmd) -> Result<T, RedisError> {
    link.query_before(command, Instant::now() + PATIENCE).await.map_err(error_of)
}

fn error_of(error: QueryError) -> RedisError {
    match error {
        QueryError::NotSent => RedisError::Away("it is not connected".to_owned()),
        QueryError::Unknown(why) => RedisError::Away(why),
        QueryError::Refused(answer) => RedisError::Refused(answer.to_string()),
        QueryError::Garbled(why) => RedisError::Nonsense(why),
    }
}
