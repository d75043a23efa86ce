//! `GET /health`: whether decisions are made here.

use sluicegate_engine::Engine;
use sluicegate_ledger::Health;

use super::{Reply, reply};

/// Who asks gets an answer: whether the disk takes what is recorded and the clock is plausible is said, but why is for
/// the admin port.
pub(super) fn get(engine: &Engine) -> Reply {
    let is_plausible = engine.clock_status().is_plausible();
    let status = match engine.spool().health() {
        Health::Good if is_plausible => "ok",
        Health::Good | Health::Full { .. } | Health::Failing { .. } => "impaired",
    };
    let clock = if is_plausible { "" } else { ",\"clock\":\"implausible\"" };
    reply::json(format!("{{\"status\":\"{status}\",\"mode\":\"normal\"{clock}}}"))
}
