//! The Redis client library, or in a build without the feature `redis` what stands in for its types.
//!
//! Only this module and `link/` know which of the two it is. A build without the feature can open no
//! [`Link`](super::link::Link), so none of the stand-ins is ever used at run time.

#[cfg(feature = "redis")]
pub(crate) use ::redis::{Cmd, FromRedisValue, Msg, Script, ToRedisArgs, Value, aio::PubSub, cmd};

#[cfg(not(feature = "redis"))]
mod absent;
#[cfg(not(feature = "redis"))]
pub(crate) use absent::{Cmd, FromRedisValue, Msg, PubSub, Script, ToRedisArgs, Value, cmd};
