//! Asking Redis to run one of the scripts.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use redis::{FromRedisValue, cmd};
use tokio::time::Instant;

use super::layout::KEYS;
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

/// One script.
pub(super) struct Script {
    text: &'static str,
    /// Under which the server knows it once it has seen the text.
    hash: LazyLock<String, fn() -> String>,
}

macro_rules! script {
    ($file:literal) => {{
        const TEXT: &str = include_str!(concat!("scripts/", $file));
        Script { text: TEXT, hash: LazyLock::new(|| redis::Script::new(TEXT).get_hash().to_owned()) }
    }};
}

pub(super) static PUT: Script = script!("put.lua");
pub(super) static LIFT: Script = script!("lift.lua");
pub(super) static LIST: Script = script!("list.lua");

/// Runs a script. None of them does more when it runs twice.
pub(super) async fn run<T: FromRedisValue>(
    link: &Link,
    script: &Script,
    arguments: &[String],
) -> Result<T, ShareError> {
    let expires = Instant::now() + PATIENCE;
    let call = |name: &str, script: &str| {
        let mut call = cmd(name);
        call.arg(script).arg(KEYS.len()).arg(KEYS.as_slice()).arg(arguments);
        call
    };
    let answer = match link.query_before(&call("EVALSHA", &script.hash), expires).await {
        Err(QueryError::Refused(answer)) if answer.is_no_script() => {
            link.query_before(&call("EVAL", script.text), expires).await
        }
        answer => answer,
    };
    answer.map_err(|error| match error {
        QueryError::Unknown(_) => ShareError::Unanswered,
        error => ShareError::Undone(error),
    })
}
