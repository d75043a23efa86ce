//! The suite `start`: how long `tollgate serve` takes until it is ready, and its memory, with many accounts.

mod accounts;

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::load::build;
use crate::load::caller::{Caller, runtime};
use crate::load::cores::Cores;
use crate::load::options::LoadOptions;
use crate::load::tollgate::{Addresses, TWO_LIMITS, Tollgate, make_keys};
use crate::load::usage::resident_bytes;
use crate::report::{Format, note};
use crate::timing::{median, stopwatch};

/// Accounts with a key each.
const ACCOUNTS: u32 = 100_000;
/// Those of them that send a request each.
const CALLERS: u32 = 10_000;
const STARTS: usize = 5;
/// Between two looks for the ready file: little beside what is measured.
const LOOK_EVERY: Duration = Duration::from_micros(200);
const CALLS_AT_A_TIME: usize = 64;

const READY_MS_TARGET: f64 = 300.0;
const RESIDENT_MB_TARGET: f64 = 60.0;

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = build::tollgate(options)?;
    let tollgate = Tollgate { program, folder: folder.path().to_owned(), upstream: None };
    let runtime = runtime()?;
    // A first start makes the secrets of the data directory, and keys that can be used.
    let (mut first, addresses) = tollgate.start(Cores::Shared, LOOK_EVERY)?;
    let keys = runtime.block_on(make_keys(addresses, TWO_LIMITS, CALLERS))?;
    first.end();
    note(&format!("filling the directory with {ACCOUNTS} accounts"));
    runtime.block_on(accounts::fill(&tollgate.data_dir(), ACCOUNTS - CALLERS))?;

    let mut ready_ms = Vec::with_capacity(STARTS);
    let mut resident_mb = [0.0; 2];
    for turn in 0..STARTS {
        let watch = stopwatch();
        let (server, addresses) = tollgate.start(Cores::Shared, LOOK_EVERY)?;
        ready_ms.push(watch.elapsed().as_secs_f64() * 1e3);
        if turn + 1 == STARTS {
            let before = megabytes(server.pid())?;
            runtime.block_on(call(addresses, &keys))?;
            resident_mb = [before, megabytes(server.pid())?];
        }
    }
    print(&ready_ms, resident_mb, format)
}

/// Every key once.
async fn call(addresses: Addresses, keys: &[String]) -> Result<()> {
    let caller = Caller::new(addresses.decision, None);
    let mut calls = JoinSet::new();
    for key in keys {
        if calls.len() >= CALLS_AT_A_TIME
            && let Some(called) = calls.join_next().await
        {
            called??;
        }
        let (caller, body) = (caller.clone(), json!({"key": key}));
        calls.spawn(async move {
            let answer = caller.post("/v1/check", &body).await?;
            ensure!(answer["allowed"] == true, "refused: {answer}");
            Ok(())
        });
    }
    while let Some(called) = calls.join_next().await {
        called??;
    }
    Ok(())
}

fn megabytes(pid: u32) -> Result<f64> {
    Ok(resident_bytes(pid)? as f64 / 1e6)
}

fn print(ready_ms: &[f64], resident_mb: [f64; 2], format: Format) -> Result<()> {
    let figures = [
        ("ready", "ms", median(ready_ms.to_vec()), READY_MS_TARGET),
        ("memory/ready", "MB", resident_mb[0], RESIDENT_MB_TARGET),
        ("memory/10k", "MB", resident_mb[1], RESIDENT_MB_TARGET),
    ];
    let mut out = std::io::stdout().lock();
    for (case, unit, value, target) in figures {
        match format {
            Format::Json => {
                let row = json!({"suite": "start", "case": case, "unit": unit, "better": "lower", "ours": value,
                    "target": target});
                writeln!(out, "{row}")?;
            }
            Format::Table => {
                let verdict = if value < target { "met" } else { "MISSED" };
                writeln!(
                    out,
                    "start  {case:<14} {value:>7.1} {unit}   target < {target:.0} {unit}   {verdict}"
                )?;
            }
        }
    }
    Ok(())
}
