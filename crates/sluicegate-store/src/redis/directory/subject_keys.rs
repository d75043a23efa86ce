//! The encrypted key of subjects, in the state of the store.

use super::ask;
use super::error::RedisError;
use super::layout::STATE;
use super::reply::Reply;
use crate::redis::driver::{Value, cmd};
use crate::redis::link::Link;

/// What is kept under these names.
pub(crate) async fn read(link: &Link, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, RedisError> {
    let mut command = cmd("HMGET");
    command.arg(STATE).arg(names);
    match ask::command(link, &command).await? {
        Value::Array(values) => values
            .into_iter()
            .map(|value| match value {
                Value::Nil => Ok(None),
                Value::BulkString(bytes) => Ok(Some(bytes)),
                _ => Err(RedisError::Nonsense("a key of subjects".to_owned())),
            })
            .collect(),
        other => Reply::of(other).map(|_| Vec::new()),
    }
}

/// Keeps these.
pub(crate) async fn keep(link: &Link, values: &[(String, Vec<u8>)]) -> Result<(), RedisError> {
    let mut command = cmd("HSET");
    command.arg(STATE);
    for (name, value) in values {
        command.arg(name).arg(value.as_slice());
    }
    ask::command(link, &command).await.map(drop)
}
