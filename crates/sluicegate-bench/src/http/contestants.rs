//! The servers of the suite `http`, each with the requests it is sent.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{BATCH, CHECK, CHECK_TEN, EMPTY, LIMITADOR, LIMITADOR_TEN, THROTTLECRAB};
use crate::load::build;
use crate::load::caller::Caller;
use crate::load::cores::Side;
use crate::load::field::{Field, Running};
use crate::load::options::LoadOptions;
use crate::load::script::Wire;
use crate::load::server::free_address;
use crate::load::sluicegate::{Sluicegate, TEN_LIMITS, TWO_LIMITS, make_keys};

/// Callers, sent in turn.
const CALLERS: u32 = 1_000;
const CHECKS_IN_BATCH: u32 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a contestant is asked, to see that it admits.
pub(super) struct Sample {
    server: SocketAddr,
    path: &'static str,
    body: Value,
}

impl Sample {
    /// Asks once and wants to be admitted.
    pub(super) async fn check(&self) -> Result<()> {
        let answer = Caller::new(self.server, None).post(self.path, &self.body).await?;
        let first = answer.get("results").map_or(&answer, |results| &results[0]);
        ensure!(first["allowed"] == true, "{} refuses: {answer}", self.path);
        Ok(())
    }
}

/// Starts everyone who is wanted.
pub(super) async fn start(field: &mut Field<'_>, options: &LoadOptions) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let keys = enter_sluicegate(field, options, &mut samples).await?;
    let peer = build::peer(options)?;
    let of_keys = || keys.iter().map(|key| json!({"key": key}));
    for (name, words) in [
        (EMPTY, &["empty-hyper"][..]),
        (LIMITADOR, &["limitador-axum"]),
        (LIMITADOR_TEN, &["limitador-axum", "--limits", "10"]),
    ] {
        if options.wants(name) {
            let address = free_address()?;
            let mut program = Command::new(&peer);
            program.args(words).arg("--port").arg(address.port().to_string());
            let running = field.start(name, &program, Side::Server, address)?;
            samples.push(enter(field, name, running, "/check", of_keys().collect(), 1)?);
        }
    }
    if options.wants(THROTTLECRAB) {
        let address = free_address()?;
        let mut program = Command::new(build::throttlecrab()?);
        program.args(["--http", "--http-host", "127.0.0.1", "--log-level", "warn"]);
        program.arg("--http-port").arg(address.port().to_string());
        let running = field.start(THROTTLECRAB, &program, Side::Server, address)?;
        let checks = keys.iter().map(|key| throttle(key)).collect();
        samples.push(enter(field, THROTTLECRAB, running, "/throttle", checks, 1)?);
    }
    Ok(samples)
}

/// A limit that refuses nobody, given with each check as throttlecrab wants it.
fn throttle(key: &str) -> Value {
    json!({"key": key, "max_burst": 1_000_000_000, "count_per_period": 1_000_000_000, "period": 60})
}

/// Ours, under three names. The keys of its first tier.
async fn enter_sluicegate(
    field: &mut Field<'_>,
    options: &LoadOptions,
    samples: &mut Vec<Sample>,
) -> Result<Vec<String>> {
    let program = build::sluicegate(options)?;
    let sluicegate = Sluicegate { program, folder: field.folder.to_owned(), upstream: None };
    let (server, addresses) = sluicegate.start(field.cores, LOOK_EVERY)?;
    let running = field.keep(server, addresses.decision);
    let keys = make_keys(addresses, TWO_LIMITS, CALLERS).await?;
    let ten = make_keys(addresses, TEN_LIMITS, CALLERS).await?;
    let checks = |keys: &[String]| -> Vec<Value> {
        keys.iter().map(|key| json!({"key": key, "method": "GET", "path": "/reports"})).collect()
    };
    let batches =
        checks(&keys).chunks(CHECKS_IN_BATCH as usize).map(|some| json!({"checks": some})).collect();
    samples.push(enter(field, CHECK, running, "/v1/check", checks(&keys), 1)?);
    samples.push(enter(field, CHECK_TEN, running, "/v1/check", checks(&ten), 1)?);
    samples.push(enter(field, BATCH, running, "/v1/check/batch", batches, CHECKS_IN_BATCH)?);
    Ok(keys)
}

fn enter(
    field: &mut Field<'_>,
    name: &'static str,
    running: Running,
    path: &'static str,
    bodies: Vec<Value>,
    decisions: u32,
) -> Result<Sample> {
    let address = running.address;
    let requests: Vec<Wire> =
        bodies.iter().map(|body| Wire::post(address, path, &body.to_string())).collect();
    field.enter(name, running, &requests, decisions)?;
    let body = bodies.into_iter().next().context("a contestant without requests")?;
    Ok(Sample { server: address, path, body })
}
