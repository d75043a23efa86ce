//! The suite `redis`: a rate and a quota decided in Redis, ours beside the scripts that one would write first.
//!
//! One redis-server has a core to itself; whoever asks it has the other. All contestants use the same server in turns.

mod contest;
mod hot;
mod latency;
mod limits;
mod load;
mod ours;
mod peers;
mod report;
mod socket;
mod store;
mod wire;

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use core_affinity::CoreId;

use self::contest::Contestant;
use self::latency::Latency;
use self::ours::{Ours, Ping};
use self::peers::{Peer, Time};
use self::report::Comparison;
use self::store::Store;
use crate::load::caller::runtime;
use crate::load::cores::Cores;
use crate::load::options::LoadOptions;
use crate::report::{Format, note};

/// Callers that ask at the same time, with a connection each.
const CONNECTIONS: usize = 50;
/// Callers of the one account that everybody uses.
const HOT_CALLERS: usize = 256;
/// Accounts that take turns.
const ACCOUNTS: u32 = 10_000;

const INCREMENT: &str = "INCR";
const RATE: &str = "rate alone (GCRA)";
const OBVIOUS: &str = "obvious script";
const OBVIOUS_TOLD: &str = "obvious script, told the time";
const OURS: &str = "sluicegate";
const HOT: &str = "sluicegate, hot account, 256 callers";
const HOT_FEWER: &str = "sluicegate, hot account, 50 callers";

const COMPARISONS: [Comparison; 6] = [
    Comparison { ours: OURS, peer: OBVIOUS, rate_min: Some(1.2), cpu_max: Some(1.0) },
    Comparison { ours: HOT, peer: OBVIOUS, rate_min: Some(5.0), cpu_max: Some(1.0) },
    Comparison { ours: HOT_FEWER, peer: OBVIOUS, rate_min: None, cpu_max: None },
    Comparison { ours: OURS, peer: OBVIOUS_TOLD, rate_min: None, cpu_max: None },
    Comparison { ours: OURS, peer: RATE, rate_min: None, cpu_max: None },
    Comparison { ours: OURS, peer: INCREMENT, rate_min: None, cpu_max: None },
];

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    runtime()?.block_on(measure(options, format))
}

async fn measure(options: &LoadOptions, format: Format) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cores = Cores::choose();
    let mut store = Store::start(cores, folder.path()).await?;
    if let Cores::Apart { clients, .. } = cores {
        // The callers are all on this thread.
        core_affinity::set_for_current(CoreId { id: clients });
    }
    let ours = Ours::new(store.address)?;
    let mut contestants = peers(&mut store).await?;
    contestants.extend(self::ours(&ours));
    contestants.retain(|it| options.wants(it.name));
    let ran = contest::run(&contestants, &mut store, options).await?;
    note("one request at a time");
    let latencies = latencies(&ours, store.address).await?;
    report::print(&ran, &COMPARISONS, &latencies, format)
}

async fn peers(store: &mut Store) -> Result<Vec<Contestant>> {
    let address = store.address;
    let contestant = |name, peer: Peer| {
        Contestant::new(name, move |time| {
            let peer = peer.clone();
            async move { load::run(peer.callers(address).await?, time).await }
        })
    };
    Ok(vec![
        contestant(INCREMENT, Peer::increment()),
        contestant(RATE, Peer::rate(store).await?),
        contestant(OBVIOUS, Peer::obvious(store, Time::Servers).await?),
        contestant(OBVIOUS_TOLD, Peer::obvious(store, Time::Callers).await?),
    ])
}

fn ours(ours: &Ours) -> Vec<Contestant> {
    let each = ours.clone();
    let hot = |name, callers| {
        let ours = ours.clone();
        Contestant::new(name, move |time| {
            let ours = ours.clone();
            async move { load::run(ours.hot(callers).await?, time).await }
        })
    };
    let each = Contestant::new(OURS, move |time| {
        let ours = each.clone();
        async move { load::run(ours.callers().await?, time).await }
    });
    vec![each, hot(HOT, HOT_CALLERS), hot(HOT_FEWER, CONNECTIONS)]
}

/// A decision beside a `PING` over a link like its own, and beside one over a bare socket.
async fn latencies(ours: &Ours, server: SocketAddr) -> Result<Vec<(&'static str, Latency)>> {
    let mut decision = ours.callers().await?.pop().context("a caller")?;
    let mut same = Ping::new(server).await?;
    let mut bare = Peer::ping().callers(server).await?.pop().context("a caller")?;
    Ok(vec![
        ("beside a PING over the same link", latency::measure(&mut same, &mut decision).await?),
        ("beside a PING over a bare socket", latency::measure(&mut bare, &mut decision).await?),
    ])
}
