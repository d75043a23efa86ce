//! The suite `scrape`: what `/metrics` takes where there are very many accounts.

use anyhow::Result;

use crate::load::build;
use crate::load::caller::{Caller, runtime};
use crate::load::cores::Cores;
use crate::load::options::LoadOptions;
use crate::load::sluicegate::{ADMIN_TOKEN, Sluicegate, TWO_LIMITS, make_keys};
use crate::report::{Format, note};
use crate::start::{LOOK_EVERY, accounts, call, print};
use crate::timing::{median, stopwatch};

/// Accounts with a key each.
const ACCOUNTS: u32 = 100_000;
/// Those of them that send a request each: making a key over the API takes a flush of the disk.
const CALLERS: u32 = 5_000;
const SCRAPES: usize = 21;

const SERIES_TARGET: f64 = 2_000.0;
const SCRAPE_MS_TARGET: f64 = 50.0;

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = build::sluicegate(options)?;
    let sluicegate = Sluicegate { program, folder: folder.path().to_owned(), upstream: None };
    let runtime = runtime()?;
    let (mut first, addresses) = sluicegate.start(Cores::Shared, LOOK_EVERY)?;
    let keys = runtime.block_on(make_keys(addresses, TWO_LIMITS, CALLERS))?;
    first.end();
    note(&format!("filling the directory with {ACCOUNTS} accounts"));
    runtime.block_on(accounts::fill(&sluicegate.data_dir(), ACCOUNTS - CALLERS))?;
    let (_server, addresses) = sluicegate.start(Cores::Shared, LOOK_EVERY)?;
    runtime.block_on(call(addresses, &keys))?;
    let admin = Caller::new(addresses.admin, Some(ADMIN_TOKEN.to_owned()));
    let mut took_ms = Vec::with_capacity(SCRAPES);
    let mut text = String::new();
    for _ in 0..SCRAPES {
        let watch = stopwatch();
        text = runtime.block_on(admin.get("/metrics"))?;
        took_ms.push(watch.elapsed().as_secs_f64() * 1e3);
    }
    let series = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    let figures = [
        ("series", "", series as f64, Some(SERIES_TARGET)),
        ("scrape", "ms", median(took_ms), Some(SCRAPE_MS_TARGET)),
    ];
    print("scrape", &figures, format)
}
