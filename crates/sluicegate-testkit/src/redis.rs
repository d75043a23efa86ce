//! Real servers that speak the protocol of Redis, started by the tests that need them: one alone, a group under
//! sentinels, or a cluster. Each has a folder and a port of its own, and ends when it is dropped.

mod client;
mod cluster;
mod engine;
mod impostor;
mod launch;
mod reply;
mod sentinels;
mod server;

pub use client::{Client, Duplex};
pub use cluster::Cluster;
pub use engine::Engine;
pub use impostor::Impostor;
pub use launch::RedisLaunch;
pub use reply::Reply;
pub use sentinels::Sentinels;
pub use server::RedisServer;
