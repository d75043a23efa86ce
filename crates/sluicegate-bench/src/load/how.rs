//! How a contestant is loaded, and what its callers hear.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::cores::Cores;
use super::{h2load, wrk};

/// How a contestant is loaded.
pub(crate) enum Load {
    /// Requests of HTTP/1.1, by a script for wrk.
    Requests(PathBuf),
    /// Calls of gRPC.
    Calls(h2load::Calls),
}

/// What the callers heard in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) requests_per_s: f64,
    pub(crate) requests: u64,
    pub(crate) p99: Duration,
}

impl Load {
    /// One run of so many seconds.
    pub(crate) fn run(&self, cores: Cores, address: SocketAddr, seconds: u32) -> Result<Heard> {
        match self {
            Self::Requests(script) => wrk::run(cores, script, &format!("http://{address}/"), seconds),
            Self::Calls(calls) => h2load::run(cores, calls, address, seconds),
        }
    }
}
