//! What a decision takes beyond the way there and back: asked one at a time, in turns with a `PING`.

use std::time::Duration;

use anyhow::Result;

use super::load::Caller;
use crate::timing::{median, stopwatch};

const TURNS: usize = 20_000;
/// Not counted: the first ones find nothing in place.
const WARM_UP_TURNS: usize = 1_000;

/// Medians of calls that were made one at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latency {
    pub(super) ping_us: f64,
    pub(super) decision_us: f64,
}

impl Latency {
    pub(super) fn added_us(self) -> f64 {
        self.decision_us - self.ping_us
    }
}

pub(super) async fn measure(ping: &mut impl Caller, decision: &mut impl Caller) -> Result<Latency> {
    let (mut pings, mut decisions) = (Vec::with_capacity(TURNS), Vec::with_capacity(TURNS));
    for turn in 0..WARM_UP_TURNS + TURNS {
        let (pinged, decided) = (timed(ping).await?, timed(decision).await?);
        if turn >= WARM_UP_TURNS {
            pings.push(pinged.as_secs_f64() * 1e6);
            decisions.push(decided.as_secs_f64() * 1e6);
        }
    }
    Ok(Latency { ping_us: median(pings), decision_us: median(decisions) })
}

async fn timed(caller: &mut impl Caller) -> Result<Duration> {
    let watch = stopwatch();
    caller.call().await?;
    Ok(watch.elapsed())
}
