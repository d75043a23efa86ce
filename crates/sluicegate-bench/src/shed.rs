//! The suite `shed`: three times as many requests as the upstream behind the gateway can do, in three priorities.

mod crowd;
mod report;
mod upstream;

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::load::build;
use crate::load::cores::Cores;
use crate::load::options::LoadOptions;
use crate::load::sluicegate::{Addresses, Sluicegate, make_keys};
use crate::report::{Format, note};
use crowd::{Crowd, Seen};

/// How long requests may wait beyond what they take unloaded, as the policy has it.
const TARGET: Duration = Duration::from_millis(20);

const POLICY: &str = "\
tiers:
  low: {rate: 1_000_000, burst: 1_000_000_000, priority: 0}
  middle: {rate: 1_000_000, burst: 1_000_000_000, priority: 10}
  top: {rate: 1_000_000, burst: 1_000_000_000, priority: 20}
shedding: {target: 20ms}
";

/// The tiers, and what part of the capacity each asks for in the end.
const TIERS: [(&str, f64); 3] = [("low", 1.2), ("middle", 1.2), ("top", 0.6)];
const ACCOUNTS: u32 = 5;

/// What part of the capacity is light, to see what requests take unloaded.
const LIGHT: f64 = 0.1;

const LOOK_EVERY: Duration = Duration::from_millis(1);
const CAPACITY_TIME: Duration = Duration::from_secs(3);
const LIGHT_TIME: Duration = Duration::from_secs(5);
const LEARNING_TIME: Duration = Duration::from_secs(5);

/// What was measured.
pub(crate) struct Measured {
    /// Requests a second that the upstream does on its own.
    capacity: f64,
    unloaded: Vec<Seen>,
    /// Requests of the highest priority that were refused while the limit was learnt.
    lost_at_first: usize,
    overloaded: Vec<Seen>,
    time: Duration,
}

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = build::sluicegate(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let upstream = runtime.block_on(upstream::start())?;
    let sluicegate = Sluicegate { program, folder: folder.path().to_owned(), upstream: Some(upstream) };
    let (_server, addresses) = sluicegate.start_with(POLICY, Cores::Shared, LOOK_EVERY)?;
    let time = Duration::from_secs((options.seconds * options.rounds).into());
    let measured = runtime.block_on(async {
        note("measuring what the upstream can do on its own");
        let capacity = crowd::capacity(upstream, CAPACITY_TIME).await?;
        note(&format!(
            "it can do {capacity:.0} requests a second; three times as many for {} s",
            time.as_secs()
        ));
        measure(addresses, capacity, time).await
    })?;
    report::print(&measured, format)
}

async fn measure(addresses: Addresses, capacity: f64, time: Duration) -> Result<Measured> {
    let mut crowd = Crowd::new(addresses.gateway);
    for (tier, _) in TIERS {
        crowd.join(make_keys(addresses, tier, ACCOUNTS).await?);
    }
    let unloaded = crowd.send(&TIERS.map(|_| LIGHT * capacity), LIGHT_TIME).await?;
    ensure!(unloaded.iter().all(|seen| seen.shed == 0), "requests were refused under a light load");
    let rates = TIERS.map(|(_, part)| part * capacity);
    let learning = crowd.send(&rates, LEARNING_TIME).await?;
    let overloaded = crowd.send(&rates, time).await?;
    let lost_at_first = learning.last().map_or(0, |seen| seen.shed);
    Ok(Measured { capacity, unloaded, lost_at_first, overloaded, time })
}
