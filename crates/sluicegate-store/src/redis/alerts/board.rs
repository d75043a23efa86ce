//! What fires and is resolved, for all nodes: each step is one script.

use crate::redis::driver::cmd;
use sluicegate_core::time::Timestamp;

use super::script::{self, FIRE, RESOLVE};
use super::{FIRING, KEYS, TRIES, alert, ask, digits};
use crate::alerts::{ALERTS_MAX, Alert, Announced, News, OUTBOX_MAX, Tell, text};
use crate::directory::RedisError;
use crate::redis::link::Link;

pub(crate) async fn fire(
    link: &Link,
    subject: &str,
    news: &News,
    tell: Tell,
) -> Result<Announced, RedisError> {
    let body = text::write(news);
    let arguments = [
        subject,
        &body,
        &ALERTS_MAX.to_string(),
        if tell.post { &body } else { "" },
        &digits(news.told_at()),
        &OUTBOX_MAX.to_string(),
        if tell.nodes { &news.id } else { "" },
    ];
    let begun: u64 = script::run(link, &FIRE, &KEYS, &arguments).await?;
    Ok(if begun == 1 { Announced::Now } else { Announced::Before })
}

pub(crate) async fn resolve(
    link: &Link,
    subject: &str,
    at: Timestamp,
    tell: Tell,
) -> Result<Option<News>, RedisError> {
    let nonsense = || RedisError::Nonsense(format!("the alert of {subject}"));
    for _ in 0..TRIES {
        let found: Option<String> = ask(link, cmd("HGET").arg(FIRING).arg(subject)).await?;
        let Some(found) = found else { return Ok(None) };
        let Alert { seq, news } = alert(&found).ok_or_else(nonsense)?;
        let news = News { resolved_at: Some(at), ..news };
        let body = text::write(&news);
        let letter = if tell.post { body.as_str() } else { "" };
        let (seq, most, letters) = (seq.to_string(), ALERTS_MAX.to_string(), OUTBOX_MAX.to_string());
        let arguments = [subject, &found, &seq, &body, &most, letter, &digits(news.told_at()), &letters];
        if script::run::<u64>(link, &RESOLVE, &KEYS, &arguments).await? == 1 {
            return Ok(Some(news));
        }
    }
    Err(RedisError::Contended)
}

pub(crate) async fn firing(link: &Link) -> Result<Vec<(String, Alert)>, RedisError> {
    let rows: Vec<(String, String)> = ask(link, cmd("HGETALL").arg(FIRING)).await?;
    let read = |(subject, row): (String, String)| Some((subject, alert(&row)?));
    let firing: Option<Vec<(String, Alert)>> = rows.into_iter().map(read).collect();
    firing.ok_or_else(|| RedisError::Nonsense("an alert".to_owned()))
}
