//! The load: callers that each ask, wait for the answer, and ask again, all on one core.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::task::JoinSet;

use crate::timing::stopwatch;

/// One that asks, over a connection of its own.
pub(super) trait Caller: Send + 'static {
    /// Asks once: how many decisions were made. One that is no admission is an error, for it costs less.
    fn call(&mut self) -> impl Future<Output = Result<u64>> + Send;
}

/// What a load came to.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) decisions: u64,
    pub(super) time: Duration,
    /// How long each call took.
    times_ns: Vec<u64>,
}

impl Heard {
    pub(super) fn p99(&mut self) -> Duration {
        self.times_ns.sort_unstable();
        let index = self.times_ns.len() * 99 / 100;
        Duration::from_nanos(self.times_ns.get(index).copied().unwrap_or(0))
    }
}

/// Lets the callers ask for this long, all at once.
pub(super) async fn run<C: Caller>(callers: Vec<C>, time: Duration) -> Result<Heard> {
    let watch = stopwatch();
    let mut tasks = JoinSet::new();
    for caller in callers {
        tasks.spawn(drive(caller, time));
    }
    let mut all = Heard::default();
    while let Some(heard) = tasks.join_next().await {
        let heard = heard??;
        all.decisions += heard.decisions;
        all.times_ns.extend(heard.times_ns);
    }
    all.time = watch.elapsed();
    ensure!(all.decisions > 0, "nothing was decided");
    Ok(all)
}

async fn drive<C: Caller>(mut caller: C, time: Duration) -> Result<Heard> {
    let watch = stopwatch();
    let mut heard = Heard::default();
    let mut last = Duration::ZERO;
    while last < time {
        heard.decisions += caller.call().await?;
        let now = watch.elapsed();
        heard.times_ns.push(u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX));
        last = now;
    }
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::{Caller, run};
    use crate::load::caller::runtime;
    use anyhow::{Result, bail};
    use std::time::Duration;

    struct Counting(u64);

    impl Caller for Counting {
        async fn call(&mut self) -> Result<u64> {
            tokio::task::yield_now().await;
            if self.0 == 0 { bail!("refused") } else { Ok(self.0) }
        }
    }

    #[test]
    fn what_all_callers_decided_is_counted_and_a_refusal_is_an_error() {
        let runtime = runtime().unwrap();
        let load = |callers| runtime.block_on(run(callers, Duration::from_millis(20)));
        let mut heard = load(vec![Counting(1), Counting(10)]).unwrap();
        assert!(heard.decisions >= 11 && heard.time >= Duration::from_millis(20));
        assert!(heard.p99() <= heard.time);
        let error = load(vec![Counting(1), Counting(0)]).err().unwrap();
        assert_eq!(error.to_string(), "refused");
    }
}
