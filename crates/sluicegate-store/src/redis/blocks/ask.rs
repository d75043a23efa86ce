//! Asking Redis to run one of the scripts.

use std::fmt;
use std::time::Duration;

use crate::redis::driver::FromRedisValue;
use tokio::time::Instant;

use super::layout::KEYS;
use crate::redis::kept_script::KeptScript;
use crate::redis::link::{Link, QueryError};

/// How long an answer may take: nobody's request is held up by it.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Why blocks were not shared, or not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShareError {
    /// It was not done.
    Undone(QueryError),
    /// No answer came: it may have been done. Doing it again does no harm.
    Unanswered,
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undone(why) => why.fmt(f),
            Self::Unanswered => f.write_str("the store did not answer in time; try again"),
        }
    }
}

impl std::error::Error for ShareError {}

pub(super) static PUT: KeptScript = KeptScript::new(include_str!("scripts/put.lua"));
pub(super) static LIFT: KeptScript = KeptScript::new(include_str!("scripts/lift.lua"));
pub(super) static LIST: KeptScript = KeptScript::new(include_str!("scripts/list.lua"));

/// Runs a script. None of them does more when it runs twice.
pub(super) async fn run<T: FromRedisValue>(
    link: &Link,
    script: &KeptScript,
    arguments: &[String],
) -> Result<T, ShareError> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = script.run(link, &KEYS, &arguments, Instant::now() + PATIENCE).await;
    answer.map_err(|error| match error {
        QueryError::Unknown(_) => ShareError::Unanswered,
        error => ShareError::Undone(error),
    })
}
