//! Contestants that take turns: in each round everyone is loaded once, and every round begins with another one.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};

use super::cores::Cores;
use super::figures::{Lap, Laps};
use super::how::Load;
use super::options::LoadOptions;
use super::usage;
use crate::machine;
use crate::report::note;

/// The warm-up of each contestant before the first round.
const WARM_UP_S: u32 = 1;

/// One that is loaded.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// Where callers connect.
    pub(crate) address: SocketAddr,
    /// What they send.
    pub(crate) load: Load,
    /// The process group whose processor time counts.
    pub(crate) group: u32,
    /// How many decisions are in a request.
    pub(crate) decisions: u32,
}

/// A contestant and what it did.
pub(crate) struct Ran {
    pub(crate) name: &'static str,
    pub(crate) laps: Laps,
}

/// Whoever can be loaded for some seconds.
pub(crate) trait Loaded {
    fn name(&self) -> &'static str;
    /// Loads it for about so many seconds.
    fn lap(&self, cores: Cores, seconds: u32) -> Result<Lap>;
}

/// Runs all rounds.
pub(crate) fn run<C: Loaded>(contestants: &[C], cores: Cores, options: &LoadOptions) -> Result<Vec<Ran>> {
    if let Some(load) = machine::load_average() {
        note(&format!("load average before the first round: {load:.2}; on a quiet machine it is below 1"));
    }
    for contestant in contestants {
        contestant.lap(cores, WARM_UP_S)?;
    }
    let mut ran: Vec<Ran> =
        contestants.iter().map(|it| Ran { name: it.name(), laps: Laps::default() }).collect();
    for round in 0..options.rounds as usize {
        note(&format!("round {} of {}", round + 1, options.rounds));
        for turn in 0..contestants.len() {
            let index = (round + turn) % contestants.len();
            ran[index].laps.push(contestants[index].lap(cores, options.seconds)?);
        }
    }
    Ok(ran)
}

impl Loaded for Contestant {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lap(&self, cores: Cores, seconds: u32) -> Result<Lap> {
        let before = usage::cpu_of_group(self.group)?;
        let heard = self.load.run(cores, self.address, seconds);
        let heard = heard.with_context(|| format!("loading {}", self.name))?;
        let used_s = (usage::cpu_of_group(self.group)?.saturating_sub(before)).as_secs_f64();
        let decisions = f64::from(self.decisions);
        let loaded_s = heard.requests as f64 / heard.requests_per_s;
        Ok(Lap {
            per_s: heard.requests_per_s * decisions,
            per_core_s: heard.requests as f64 * decisions / used_s.max(0.001),
            busy: used_s / loaded_s,
            p99_ms: heard.p99.as_secs_f64() * 1e3,
        })
    }
}
