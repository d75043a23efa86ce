//! Two tables of a suite with servers: what each contestant did, and ours beside each peer.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use super::contest::Ran;
use super::figures::Ratio;
use crate::report::Format;

/// Ours beside a peer's, and what is aimed at.
pub(crate) struct Comparison {
    pub(crate) ours: &'static str,
    pub(crate) peer: &'static str,
    /// The least ratio that is aimed at.
    pub(crate) target: Option<Target>,
}

/// The least ratio that is aimed at.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// Of what is done in a second, and in a second of the server's core. By the worse of the two: one is blurred by
    /// what else the machine does, the other by who waits for whom.
    Both(f64),
    /// Of what is done in a second: where one side does more work for an answer, or hardly any for want of sending it.
    PerSecond(f64),
}

impl Target {
    const fn least(self) -> f64 {
        match self {
            Self::Both(least) | Self::PerSecond(least) => least,
        }
    }

    fn is_met(self, ratio: Ratio) -> bool {
        match self {
            Self::Both(least) => ratio.per_s.min(ratio.per_core_s) >= least,
            Self::PerSecond(least) => ratio.per_s >= least,
        }
    }
}

/// Prints a suite.
pub(crate) fn print(suite: &str, ran: &[Ran], comparisons: &[Comparison], format: Format) -> Result<()> {
    let both = |wanted: &Comparison| {
        let find = |name| ran.iter().find(|it| it.name == name);
        find(wanted.ours).zip(find(wanted.peer))
    };
    // A contestant that was left out is compared with nobody.
    let pairs: Vec<_> = comparisons.iter().filter_map(|wanted| Some((wanted, both(wanted)?))).collect();
    let mut out = std::io::stdout().lock();
    match format {
        Format::Json => {
            for (wanted, (ours, peer)) in pairs {
                writeln!(out, "{}", object(suite, wanted, ours, peer))?;
            }
        }
        Format::Table => {
            writeln!(out, "{}", contestants(suite, ran))?;
            let mut table = with_header(["ours", "beside", "ratio", "per core second", "target", ""]);
            for (wanted, (ours, peer)) in pairs {
                table.add_row(line(wanted, ours, peer));
            }
            right(&mut table, 2..5);
            writeln!(out, "{table}")?;
        }
    }
    out.flush().context("cannot print")
}

fn contestants(suite: &str, ran: &[Ran]) -> Table {
    let mut table =
        with_header([suite, "per second", "slowest – fastest", "core busy", "per core second", "p99 ms"]);
    for Ran { name, laps } in ran {
        let (low, high) = laps.spread();
        table.add_row([
            (*name).to_owned(),
            thousands(laps.median_of(|lap| lap.per_s)),
            format!("{} – {}", thousands(low), thousands(high)),
            format!("{:.0} %", laps.median_of(|lap| lap.busy) * 100.0),
            thousands(laps.median_of(|lap| lap.per_core_s)),
            format!("{:.2}", laps.median_of(|lap| lap.p99_ms)),
        ]);
    }
    right(&mut table, 1..6);
    table
}

fn line(wanted: &Comparison, ours: &Ran, peer: &Ran) -> [String; 6] {
    let ratio = ours.laps.over(&peer.laps);
    let verdict = wanted.target.map_or("", |target| if target.is_met(ratio) { "met" } else { "MISSED" });
    [
        ours.name.to_owned(),
        peer.name.to_owned(),
        format!("{:.2}", ratio.per_s),
        format!("{:.2}", ratio.per_core_s),
        wanted.target.map_or_else(String::new, |target| format!("≥ {:.1}", target.least())),
        verdict.to_owned(),
    ]
}

/// The fields of the suite `core` first.
fn object(suite: &str, wanted: &Comparison, ours: &Ran, peer: &Ran) -> serde_json::Value {
    let ratio = ours.laps.over(&peer.laps);
    json!({
        "suite": suite, "case": ours.name, "unit": "1/s", "better": "higher",
        "ours": ours.laps.median_of(|lap| lap.per_s),
        "peer": peer.name, "peer_value": peer.laps.median_of(|lap| lap.per_s), "ratio": ratio.per_s,
        "ratio_per_core_second": ratio.per_core_s, "target": wanted.target.map(Target::least),
        "ours_spread": ours.laps.spread(), "peer_spread": peer.laps.spread(),
        "ours_busy": ours.laps.median_of(|lap| lap.busy), "peer_busy": peer.laps.median_of(|lap| lap.busy),
    })
}

pub(crate) fn with_header<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header);
    table
}

pub(crate) fn right(table: &mut Table, columns: std::ops::Range<usize>) {
    for column in table.column_iter_mut().skip(columns.start).take(columns.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// `47,382`.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let first = digits.len() % 3;
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Target, line, thousands};
    use crate::load::contest::Ran;
    use crate::load::figures::{Lap, Laps};

    fn ran(name: &'static str, per_s: f64) -> Ran {
        let mut laps = Laps::default();
        laps.push(Lap { per_s, per_core_s: per_s, busy: 1.0, p99_ms: 1.0 });
        Ran { name, laps }
    }

    #[test]
    fn a_target_is_met_or_missed() {
        let wanted = Comparison { ours: "a", peer: "b", target: Some(Target::Both(0.9)) };
        assert_eq!(line(&wanted, &ran("a", 95.0), &ran("b", 100.0))[5], "met");
        assert_eq!(line(&wanted, &ran("a", 85.0), &ran("b", 100.0))[5], "MISSED");
        let mut wasteful = Laps::default();
        wasteful.push(Lap { per_s: 95.0, per_core_s: 50.0, busy: 1.0, p99_ms: 1.0 });
        let wasteful = Ran { name: "a", laps: wasteful };
        assert_eq!(line(&wanted, &wasteful, &ran("b", 100.0))[5], "MISSED");
        let wanted = Comparison { target: Some(Target::PerSecond(0.9)), ..wanted };
        assert_eq!(line(&wanted, &wasteful, &ran("b", 100.0))[5], "met");
    }

    #[test]
    fn numbers_have_commas_between_thousands() {
        assert_eq!(thousands(47_381.72), "47,382");
        assert_eq!(
            [thousands(999.0), thousands(1_000.0), thousands(1_234_567.0)],
            ["999", "1,000", "1,234,567"]
        );
    }
}
