//! When keys were last used, over all nodes.

use sluicegate_core::time::Timestamp;

use super::error::RedisError;
use super::layout::USED;
use super::reply::Reply;
use super::{RedisDirectory, ask, scripts};
use crate::directory::used::minute_began;
use crate::redis::driver::cmd;

impl RedisDirectory {
    pub(crate) async fn write_used(&self, used: &[(u64, u32)]) -> Result<(), RedisError> {
        let pairs = used.iter().flat_map(|(serial, minute)| [serial.to_string(), minute.to_string()]);
        let arguments: Vec<String> = pairs.collect();
        ask::update(&self.shared.server, &scripts::USED, USED, &arguments).await
    }

    pub(crate) async fn read_used(&self, serials: &[u64]) -> Result<Vec<Option<Timestamp>>, RedisError> {
        if serials.is_empty() {
            return Ok(Vec::new());
        }
        let fields: Vec<String> = serials.iter().map(u64::to_string).collect();
        let answer = ask::command(&self.shared.server.link, cmd("HMGET").arg(USED).arg(&fields)).await?;
        let reply = Reply::of(answer)?;
        let minute = |place| Ok(reply.text(place)?.and_then(|text| text.parse().ok()).map(minute_began));
        (0..serials.len()).map(minute).collect()
    }
}
