//! Running the scripts of alerts.

use crate::redis::driver::FromRedisValue;
use tokio::time::Instant;

use super::{PATIENCE, error_of};
use crate::directory::RedisError;
use crate::redis::kept_script::KeptScript;
use crate::redis::link::Link;

pub(super) static NOTE: KeptScript = KeptScript::new(include_str!("scripts/note.lua"));
pub(super) static FIRE: KeptScript = KeptScript::new(include_str!("scripts/fire.lua"));
pub(super) static RESOLVE: KeptScript = KeptScript::new(include_str!("scripts/resolve.lua"));
pub(super) static DELIVERED: KeptScript = KeptScript::new(include_str!("scripts/delivered.lua"));
pub(super) static GIVE_UP: KeptScript = KeptScript::new(include_str!("scripts/give_up.lua"));
pub(super) static LEASE: KeptScript = KeptScript::new(include_str!("scripts/lease.lua"));
pub(super) static COUNT: KeptScript = KeptScript::new(include_str!("scripts/count.lua"));

/// Runs a script.
pub(super) async fn run<T: FromRedisValue>(
    link: &Link,
    script: &KeptScript,
    keys: &[&str],
    arguments: &[&str],
) -> Result<T, RedisError> {
    script.run(link, keys, arguments, Instant::now() + PATIENCE).await.map_err(error_of)
}
