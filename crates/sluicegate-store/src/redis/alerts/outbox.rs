//! What is to be delivered, for all nodes: whoever has the lease delivers it.

use std::collections::BTreeMap;

use crate::redis::driver::cmd;
use sluicegate_core::time::Timestamp;

use super::script::{self, DELIVERED, GIVE_UP};
use super::{KEYS, OUTBOX, STATE, ask, digits};
use crate::alerts::{Letter, Posted, text};
use crate::directory::RedisError;
use crate::redis::link::Link;

pub(crate) async fn first(link: &Link) -> Result<Option<Letter>, RedisError> {
    let first: Vec<String> = ask(link, cmd("ZRANGE").arg(OUTBOX).arg(0).arg(0)).await?;
    let letter = |row: &String| {
        let mut parts = row.splitn(3, ' ');
        let (seq, _, body) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        Some(Letter { seq, news: text::read(body)? })
    };
    match first.first() {
        None => Ok(None),
        Some(row) => letter(row).map(Some).ok_or_else(|| RedisError::Nonsense("a letter".to_owned())),
    }
}

pub(crate) async fn delivered(link: &Link, seq: u64, now: Timestamp) -> Result<(), RedisError> {
    let arguments = [seq.to_string(), now.as_nanos().to_string()];
    let _: u64 = script::run(link, &DELIVERED, &KEYS, &[&arguments[0], &arguments[1]]).await?;
    Ok(())
}

pub(crate) async fn not_delivered(link: &Link, why: &str, now: Timestamp) -> Result<(), RedisError> {
    let mut note = cmd("HSET");
    note.arg(STATE).arg("last_error").arg(why).arg("last_at").arg(now.as_nanos());
    let _: u64 = ask(link, &note).await?;
    Ok(())
}

pub(crate) async fn give_up(link: &Link, before: Timestamp) -> Result<u64, RedisError> {
    script::run(link, &GIVE_UP, &KEYS, &[&digits(before)]).await
}

pub(crate) async fn posted(link: &Link) -> Result<Posted, RedisError> {
    let pending: u64 = ask(link, cmd("ZCARD").arg(OUTBOX)).await?;
    let mut state: BTreeMap<String, String> = ask(link, cmd("HGETALL").arg(STATE)).await?;
    let number = |name: &str| state.get(name).and_then(|text| text.parse().ok());
    Ok(Posted {
        pending,
        delivered: number("delivered").unwrap_or(0),
        dropped: number("dropped").unwrap_or(0),
        last_at: number("last_at").map(Timestamp::from_nanos),
        last_error: state.remove("last_error"),
    })
}
