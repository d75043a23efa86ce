//! Random servers and loads, to find where pacing loses: the tables show chosen cases only.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_client::{RetryLayer, RetryPolicy, Runtime as _};

use crate::simulation::{Algorithm, Headers, Report, Server, SimulatedRuntime, in_simulated_time, run};

const CASES: u64 = 200;

/// Sums over all cases of one kind of server.
#[derive(Default)]
struct Totals {
    plain_refused: u64,
    adaptive_refused: u64,
    /// Cases in which plain backoff was refused at least once.
    limited: u64,
    /// Of those: adaptive finished more than 5 % later, or earlier.
    slower: u64,
    faster: u64,
    /// The largest finish time of adaptive, in percent of plain backoff's, where they differ by more than 200 ms.
    worst_percent: u128,
}

/// Prints one row for this kind of server.
pub(crate) fn print_row(algorithm: Algorithm, headers: Headers, name: &str) {
    let mut totals = Totals::default();
    for seed in 0..CASES {
        let [plain, adaptive] =
            [false, true].map(|is_adaptive| measure(algorithm, headers, seed, is_adaptive));
        totals.add(&plain, &adaptive);
    }
    let Totals { plain_refused, adaptive_refused, limited, slower, faster, worst_percent } = totals;
    println!(
        "| {name} | {plain_refused} | {adaptive_refused} | {limited} | {slower} | {faster} | {worst_percent} % |"
    );
}

impl Totals {
    fn add(&mut self, plain: &Report, adaptive: &Report) {
        let (plain_ms, adaptive_ms) = (plain.finished_after.as_millis(), adaptive.finished_after.as_millis());
        self.plain_refused += plain.refused;
        self.adaptive_refused += adaptive.refused;
        if plain.refused > 0 {
            self.limited += 1;
            self.slower += u64::from(adaptive_ms * 100 > plain_ms * 105);
            self.faster += u64::from(plain_ms * 100 > adaptive_ms * 105);
        }
        if adaptive_ms > plain_ms + 200 {
            self.worst_percent = self.worst_percent.max(adaptive_ms * 100 / plain_ms.max(1));
        }
    }
}

fn measure(algorithm: Algorithm, headers: Headers, seed: u64, is_adaptive: bool) -> Report {
    in_simulated_time(async {
        let runtime = SimulatedRuntime::new(seed);
        let between = |low: u64, high: u64| low + runtime.random() % (high - low);
        let server = Server {
            algorithm,
            headers,
            capacity: u32::try_from(between(2, 200)).unwrap_or(u32::MAX),
            window: Duration::from_secs(between(1, 20)),
            latency: Duration::from_millis(between(0, 40)),
            runtime: runtime.clone(),
            state: Arc::default(),
        };
        let (callers, calls) = (between(1, 60), between(1, 600));
        let policy = RetryPolicy::default().with_failures_max(NonZeroU32::MAX);
        let layer = RetryLayer::new(policy).with_runtime(runtime);
        let layer = if is_adaptive { layer.adaptive() } else { layer };
        run(&server, &layer, callers, calls).await
    })
}
