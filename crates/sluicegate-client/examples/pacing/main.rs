//! Compares plain backoff with adaptive pacing: `cargo run --release -p sluicegate-client --example pacing`.
//!
//! 1,000 calls go to a simulated server with a limit of 40 requests in two seconds. Requests and responses take 10 to
//! 20 ms each. Then random servers and loads show where pacing loses. Time is simulated, so every run prints the same
//! tables.

mod simulation;
mod sweep;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use simulation::{Algorithm, Headers, Report, Server, SimulatedRuntime};
use sluicegate_client::{RetryLayer, RetryPolicy};

const CALLS: u64 = 1_000;

const SERVERS: [(Algorithm, Headers, &str); 8] = [
    (Algorithm::TokenBucket, Headers::Structured, "token bucket, `RateLimit` and `RateLimit-Policy`"),
    (Algorithm::FixedWindow, Headers::Structured, "fixed window, `RateLimit` and `RateLimit-Policy`"),
    (Algorithm::FixedWindow, Headers::XRateLimit, "fixed window, `X-RateLimit-*`"),
    (Algorithm::TokenBucket, Headers::XRateLimit, "token bucket, `X-RateLimit-*`"),
    (Algorithm::FixedWindow, Headers::XRateLimitUnix, "fixed window, `X-RateLimit-*` in Unix time"),
    (Algorithm::TokenBucket, Headers::XRateLimitUnix, "token bucket, `X-RateLimit-*` in Unix time"),
    (Algorithm::FixedWindow, Headers::RetryAfter, "fixed window, only `Retry-After`"),
    (Algorithm::TokenBucket, Headers::RetryAfter, "token bucket, only `Retry-After`"),
];

fn main() {
    for (algorithm, headers, name) in SERVERS {
        println!("{name}:\n");
        println!("| callers | mode | refused | answered | finished after | p50 | p99 |");
        println!("|---|---|---|---|---|---|---|");
        for callers in [1, 10, 100] {
            // No call is given up, so that both modes do the same work.
            let policy = RetryPolicy::default().with_failures_max(NonZeroU32::MAX);
            let plain = RetryLayer::new(policy);
            let server = (algorithm, headers);
            print_row(callers, "plain backoff", &measure(plain.clone(), server, callers));
            print_row(callers, "adaptive", &measure(plain.adaptive(), server, callers));
        }
        println!();
    }
    println!("200 random servers and loads of each kind:\n");
    println!("| server | refused, plain | refused, adaptive | limited cases | slower | faster | worst |");
    println!("|---|---|---|---|---|---|---|");
    for (algorithm, headers, name) in SERVERS {
        sweep::print_row(algorithm, headers, name);
    }
}

fn measure(layer: RetryLayer, (algorithm, headers): (Algorithm, Headers), callers: u64) -> Report {
    simulation::in_simulated_time(async {
        let runtime = SimulatedRuntime::new(1);
        let server = Server {
            algorithm,
            headers,
            capacity: 40,
            window: Duration::from_secs(2),
            latency: Duration::from_millis(10),
            runtime: runtime.clone(),
            state: Arc::default(),
        };
        simulation::run(&server, &layer.with_runtime(runtime), callers, CALLS).await
    })
}

fn print_row(callers: u64, mode: &str, report: &Report) {
    let Report { refused, succeeded, .. } = report;
    let (finished_ms, p50_ms) = (report.finished_after.as_millis(), report.percentile(50).as_millis());
    let p99_ms = report.percentile(99).as_millis();
    println!(
        "| {callers} | {mode} | {refused} | {succeeded} | {}.{:03} s | {p50_ms} ms | {p99_ms} ms |",
        finished_ms / 1_000,
        finished_ms % 1_000
    );
}
