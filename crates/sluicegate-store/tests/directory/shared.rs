//! What holds where several nodes share a directory in Redis.

mod away;
mod failover;
mod layout;
mod nodes;
mod remembered;
mod silence;
