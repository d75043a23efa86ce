//! The servers that other tests start: they answer, they fail on command, and they leave nothing behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod cluster;
mod sentinels;
mod server;
mod tls;

use std::net::SocketAddr;
use std::time::Duration;

use sluicegate_testkit::redis::{Client, Engine};

/// A connection over the port, which waits long.
fn client(address: SocketAddr) -> Client {
    Client::connect(address, Duration::from_secs(20)).unwrap()
}

fn for_both(test: impl Fn(Engine)) {
    Engine::ALL.into_iter().for_each(test);
}
