//! `GET /health`: whether decisions are made here.

use sluicegate_engine::Engine;
use sluicegate_ledger::Health;

use super::{Reply, reply};

/// Who asks gets an answer: whether the disk takes what is recorded is said, but why is for the admin port.
pub(super) fn get(engine: &Engine) -> Reply {
    let status = match engine.spool().health() {
        Health::Good => "ok",
        Health::Full { .. } | Health::Failing { .. } => "impaired",
    };
    reply::json(format!("{{\"status\":\"{status}\",\"mode\":\"normal\"}}"))
}
