//! The suite `start`: how long `sluicegate serve` takes until it is ready, and its memory, with many accounts.

pub(crate) mod accounts;

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::load::build;
use crate::load::caller::{Caller, runtime};
use crate::load::cores::Cores;
use crate::load::options::LoadOptions;
use crate::load::sluicegate::{Addresses, Sluicegate, TWO_LIMITS, make_keys};
use crate::load::usage::Resident;
use crate::report::{Format, note};
use crate::timing::{median, stopwatch};

/// Accounts with a key each.
const ACCOUNTS: u32 = 100_000;
/// Those of them that send a request each.
const CALLERS: u32 = 10_000;
const STARTS: usize = 5;
/// Between two looks for the ready file: little beside what is measured.
pub(crate) const LOOK_EVERY: Duration = Duration::from_micros(200);
const CALLS_AT_A_TIME: usize = 64;

/// Linux counts in 1,024 bytes; people and this program in 1,000.
const BYTES_IN_MB: f64 = 1e6;

const READY_MS_TARGET: f64 = 300.0;
const RESIDENT_MB_TARGET: f64 = 60.0;

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = build::sluicegate(options)?;
    let sluicegate = Sluicegate { program, folder: folder.path().to_owned(), upstream: None };
    let runtime = runtime()?;
    // A first start makes the secrets of the data directory, and keys that can be used.
    let (mut first, addresses) = sluicegate.start(Cores::Shared, LOOK_EVERY)?;
    let keys = runtime.block_on(make_keys(addresses, TWO_LIMITS, CALLERS))?;
    first.end();
    note(&format!("filling the directory with {ACCOUNTS} accounts"));
    runtime.block_on(accounts::fill(&sluicegate.data_dir(), ACCOUNTS - CALLERS))?;

    let mut ready_ms = Vec::with_capacity(STARTS);
    let mut resident = [Resident::default(); 2];
    for turn in 0..STARTS {
        let watch = stopwatch();
        let (server, addresses) = sluicegate.start(Cores::Shared, LOOK_EVERY)?;
        ready_ms.push(watch.elapsed().as_secs_f64() * 1e3);
        if turn + 1 == STARTS {
            resident[0] = Resident::of(server.pid())?;
            runtime.block_on(call(addresses, &keys))?;
            resident[1] = Resident::of(server.pid())?;
        }
    }
    let megabytes = |bytes: u64| bytes as f64 / BYTES_IN_MB;
    let [ready, used] = resident;
    let figures = [
        ("ready", "ms", median(ready_ms), Some(READY_MS_TARGET)),
        ("memory/ready", "MB", megabytes(ready.all), Some(RESIDENT_MB_TARGET)),
        ("memory/ready/anonymous", "MB", megabytes(ready.anonymous), None),
        ("memory/10k requests", "MB", megabytes(used.all), Some(RESIDENT_MB_TARGET)),
        ("memory/10k requests/anonymous", "MB", megabytes(used.anonymous), None),
    ];
    print("start", &figures, format)
}

/// Every key once.
pub(crate) async fn call(addresses: Addresses, keys: &[String]) -> Result<()> {
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

/// A figure: its case, its unit, its value, and what it should be below.
pub(crate) type Figure = (&'static str, &'static str, f64, Option<f64>);

/// Prints figures that are better when they are lower.
pub(crate) fn print(suite: &str, figures: &[Figure], format: Format) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for &(case, unit, value, target) in figures {
        match format {
            Format::Json => {
                let row = json!({"suite": suite, "case": case, "unit": unit, "better": "lower", "ours": value,
                    "target": target});
                writeln!(out, "{row}")?;
            }
            Format::Table => {
                writeln!(out, "{suite}  {case:<30} {value:>7.1} {unit}{}", verdict(value, unit, target))?;
            }
        }
    }
    Ok(())
}

fn verdict(value: f64, unit: &str, target: Option<f64>) -> String {
    target.map_or_else(String::new, |target| {
        format!("   target < {target:.0} {unit}   {}", if value < target { "met" } else { "MISSED" })
    })
}
