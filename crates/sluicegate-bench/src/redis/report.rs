//! Three tables of the suite `redis`: what each contestant did, ours beside the obvious script, and the latency.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use comfy_table::Table;
use serde_json::{Value, json};

use super::latency::Latency;
use crate::load::contest::Ran;
use crate::load::report::{right, thousands, with_header};
use crate::report::Format;

/// Ours beside a peer's, and what is aimed at.
pub(super) struct Comparison {
    pub(super) ours: &'static str,
    pub(super) peer: &'static str,
    /// The least ratio of decisions per second.
    pub(super) rate_min: Option<f64>,
    /// The greatest ratio of the server's processor time for a decision.
    pub(super) cpu_max: Option<f64>,
}

/// The most that a decision may take beyond a `PING`, at the median.
const ADDED_US_MAX: f64 = 50.0;

/// Prints the suite.
pub(super) fn print(
    ran: &[Ran],
    comparisons: &[Comparison],
    latencies: &[(&'static str, Latency)],
    format: Format,
) -> Result<()> {
    let find = |name| ran.iter().find(|it| it.name == name);
    // A contestant that was left out is compared with nobody.
    let found = |wanted| Some(Ratio::of(wanted, find(wanted.ours)?, find(wanted.peer)?));
    let ratios: Vec<Ratio<'_>> = comparisons.iter().filter_map(found).collect();
    let mut out = std::io::stdout().lock();
    match format {
        Format::Json => {
            for row in ratios.iter().map(Ratio::object).chain(latencies.iter().map(latency_object)) {
                writeln!(out, "{row}")?;
            }
        }
        Format::Table => {
            writeln!(out, "{}\n{}\n{}", contestants(ran), beside(&ratios), latency(latencies))?;
        }
    }
    out.flush().context("cannot print")
}

fn contestants(ran: &[Ran]) -> Table {
    let header =
        ["redis", "decisions per second", "slowest – fastest", "core busy", "Redis CPU µs", "p99 ms"];
    let mut table = with_header(header);
    for it in ran {
        let (low, high) = it.laps.spread();
        table.add_row([
            it.name.to_owned(),
            thousands(it.laps.median_of(|lap| lap.per_s)),
            format!("{} – {}", thousands(low), thousands(high)),
            format!("{:.0} %", it.laps.median_of(|lap| lap.busy) * 100.0),
            format!("{:.1}", cpu_us(it)),
            format!("{:.2}", it.laps.median_of(|lap| lap.p99_ms)),
        ]);
    }
    right(&mut table, 1..6);
    table
}

/// Processor time of the server for a decision.
fn cpu_us(ran: &Ran) -> f64 {
    ran.laps.median_of(|lap| 1e6 / lap.per_core_s)
}

/// Ours over a peer's.
struct Ratio<'a> {
    wanted: &'a Comparison,
    ours: &'a Ran,
    peer: &'a Ran,
    rate: f64,
    cpu: f64,
}

impl<'a> Ratio<'a> {
    fn of(wanted: &'a Comparison, ours: &'a Ran, peer: &'a Ran) -> Self {
        let over = ours.laps.over(&peer.laps);
        Self { wanted, ours, peer, rate: over.per_s, cpu: 1.0 / over.per_core_s }
    }

    fn verdict(&self) -> &'static str {
        let Comparison { rate_min, cpu_max, .. } = *self.wanted;
        let slow = rate_min.is_some_and(|least| self.rate < least);
        let dear = cpu_max.is_some_and(|most| self.cpu > most);
        match (rate_min, cpu_max) {
            (None, None) => "",
            _ if slow || dear => "MISSED",
            _ => "met",
        }
    }

    fn object(&self) -> Value {
        let per_s = |ran: &Ran| ran.laps.median_of(|lap| lap.per_s);
        json!({
            "suite": "redis", "case": self.ours.name, "unit": "1/s", "better": "higher",
            "ours": per_s(self.ours), "peer": self.peer.name, "peer_value": per_s(self.peer), "ratio": self.rate,
            "target": self.wanted.rate_min, "ours_cpu_us": cpu_us(self.ours), "peer_cpu_us": cpu_us(self.peer),
            "ratio_cpu": self.cpu, "target_cpu": self.wanted.cpu_max,
            "ours_spread": self.ours.laps.spread(), "peer_spread": self.peer.laps.spread(),
        })
    }
}

fn beside(ratios: &[Ratio<'_>]) -> Table {
    let mut table = with_header(["ours", "beside", "decisions", "target", "Redis CPU", "target", ""]);
    for ratio in ratios {
        let target = |sign: &str, target: Option<f64>| {
            target.map_or_else(String::new, |target| format!("{sign} {target:.1}"))
        };
        table.add_row([
            ratio.ours.name.to_owned(),
            ratio.peer.name.to_owned(),
            format!("{:.2}", ratio.rate),
            target("≥", ratio.wanted.rate_min),
            format!("{:.2}", ratio.cpu),
            target("≤", ratio.wanted.cpu_max),
            ratio.verdict().to_owned(),
        ]);
    }
    right(&mut table, 2..6);
    table
}

fn latency(latencies: &[(&'static str, Latency)]) -> Table {
    let mut table = with_header(["one at a time", "PING µs", "decision µs", "added µs", "target", ""]);
    for (name, latency) in latencies {
        let added = latency.added_us();
        table.add_row([
            (*name).to_owned(),
            format!("{:.1}", latency.ping_us),
            format!("{:.1}", latency.decision_us),
            format!("{added:.1}"),
            format!("< {ADDED_US_MAX:.0}"),
            if added < ADDED_US_MAX { "met" } else { "MISSED" }.to_owned(),
        ]);
    }
    right(&mut table, 1..5);
    table
}

fn latency_object((name, latency): &(&'static str, Latency)) -> Value {
    json!({
        "suite": "redis", "case": format!("latency/{name}"), "unit": "us", "better": "lower",
        "ours": latency.decision_us, "peer": "PING", "peer_value": latency.ping_us,
        "ratio": latency.decision_us / latency.ping_us, "added": latency.added_us(), "target": ADDED_US_MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Ratio};
    use crate::load::contest::Ran;
    use crate::load::figures::{Lap, Laps};

    fn ran(per_s: f64, per_core_s: f64) -> Ran {
        let mut laps = Laps::default();
        laps.push(Lap { per_s, per_core_s, busy: 1.0, p99_ms: 1.0 });
        Ran { name: "it", laps }
    }

    fn verdict(ours: &Ran, rate_min: Option<f64>, cpu_max: Option<f64>) -> &'static str {
        let wanted = Comparison { ours: "it", peer: "it", rate_min, cpu_max };
        Ratio::of(&wanted, ours, &ran(100.0, 100.0)).verdict()
    }

    #[test]
    fn a_target_is_met_only_if_it_is_neither_slower_nor_dearer() {
        let (fast, slow) = (ran(130.0, 110.0), ran(110.0, 110.0));
        assert_eq!(verdict(&fast, Some(1.2), Some(1.0)), "met");
        assert_eq!(verdict(&slow, Some(1.2), Some(1.0)), "MISSED");
        // Fast, at the price of more work for the server.
        assert_eq!(verdict(&ran(130.0, 90.0), Some(1.2), Some(1.0)), "MISSED");
        assert_eq!((verdict(&slow, None, Some(1.0)), verdict(&slow, None, None)), ("met", ""));
    }
}
