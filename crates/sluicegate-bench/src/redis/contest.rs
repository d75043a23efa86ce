//! Contestants that take turns on one server: in each round everyone asks once, and every round begins with another.

use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::load::Heard;
use super::store::Store;
use crate::load::contest::Ran;
use crate::load::figures::{Lap, Laps};
use crate::load::options::LoadOptions;
use crate::machine;
use crate::report::note;

const WARM_UP: Duration = Duration::from_secs(1);

/// A load that lasts this long.
type Load = Box<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = Result<Heard>>>>>;

/// One that asks.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    load: Load,
}

impl Contestant {
    pub(super) fn new<F>(name: &'static str, load: impl Fn(Duration) -> F + 'static) -> Self
    where
        F: Future<Output = Result<Heard>> + 'static,
    {
        Self { name, load: Box::new(move |time| Box::pin(load(time))) }
    }

    async fn lap(&self, store: &mut Store, time: Duration) -> Result<Lap> {
        let before = store.cpu().await?;
        let mut heard = (self.load)(time).await.with_context(|| format!("loading with {}", self.name))?;
        let used_s = store.cpu().await?.saturating_sub(before).as_secs_f64();
        let decisions = heard.decisions as f64;
        Ok(Lap {
            per_s: decisions / heard.time.as_secs_f64(),
            per_core_s: decisions / used_s.max(0.001),
            busy: used_s / heard.time.as_secs_f64(),
            p99_ms: heard.p99().as_secs_f64() * 1e3,
        })
    }
}

/// Runs all rounds.
pub(super) async fn run(
    contestants: &[Contestant],
    store: &mut Store,
    options: &LoadOptions,
) -> Result<Vec<Ran>> {
    if let Some(load) = machine::load_average() {
        note(&format!("load average before the first round: {load:.2}; on a quiet machine it is below 1"));
    }
    for contestant in contestants {
        contestant.lap(store, WARM_UP).await?;
    }
    let mut ran: Vec<Ran> =
        contestants.iter().map(|it| Ran { name: it.name, laps: Laps::default() }).collect();
    for round in 0..options.rounds as usize {
        note(&format!("round {} of {}", round + 1, options.rounds));
        for turn in 0..contestants.len() {
            let index = (round + turn) % contestants.len();
            let time = Duration::from_secs(options.seconds.into());
            ran[index].laps.push(contestants[index].lap(store, time).await?);
        }
    }
    Ok(ran)
}
