//! Running the scripts of alerts.

use std::sync::LazyLock;

use redis::{FromRedisValue, cmd};
use tokio::time::Instant;

use super::{PATIENCE, error_of};
use crate::directory::RedisError;
use crate::redis::link::{Link, QueryError};

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

pub(super) static NOTE: Script = script!("note.lua");
pub(super) static FIRE: Script = script!("fire.lua");
pub(super) static RESOLVE: Script = script!("resolve.lua");
pub(super) static DELIVERED: Script = script!("delivered.lua");
pub(super) static GIVE_UP: Script = script!("give_up.lua");
pub(super) static LEASE: Script = script!("lease.lua");
pub(super) static COUNT: Script = script!("count.lua");

/// Runs a script.
pub(super) async fn run<T: FromRedisValue>(
    link: &Link,
    script: &Script,
    keys: &[&str],
    arguments: &[&str],
) -> Result<T, RedisError> {
    let expires = Instant::now() + PATIENCE;
    let call = |name: &str, script: &str| {
        let mut call = cmd(name);
        call.arg(script).arg(keys.len()).arg(keys).arg(arguments);
        call
    };
    let answer = match link.query_before(&call("EVALSHA", &script.hash), expires).await {
        Err(QueryError::Refused(answer)) if answer.is_no_script() => {
            link.query_before(&call("EVAL", script.text), expires).await
        }
        answer => answer,
    };
    answer.map_err(error_of)
}
