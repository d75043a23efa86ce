//! What the suite says: goodput, the tail, and who lost what, against the targets.

use std::io::Write as _;

use anyhow::Result;
use serde_json::json;

use super::crowd::Seen;
use super::{Measured, TARGET, TIERS};
use crate::report::Format;

const GOODPUT_MIN: f64 = 90.0;

/// Which side of a target is good.
#[derive(Clone, Copy)]
enum Better {
    AtLeast,
    AtMost,
}

struct Figure {
    case: String,
    unit: &'static str,
    value: f64,
    target: Option<(Better, f64)>,
}

/// What 99 of 100 took at most.
fn p99(seen: &[Seen]) -> f64 {
    let mut took: Vec<f64> = seen.iter().flat_map(|seen| seen.took_ms.iter().copied()).collect();
    took.sort_by(f64::total_cmp);
    took.get(took.len() * 99 / 100).copied().unwrap_or(0.0)
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let Measured { capacity, unloaded, lost_at_first, overloaded, time } = measured;
    let could = capacity * time.as_secs_f64();
    let served = |seen: &Seen| seen.took_ms.len() as f64 * 100.0 / could;
    let unloaded_p99 = p99(unloaded);
    let bound = 2.0 * unloaded_p99 + TARGET.as_secs_f64() * 1e3;
    let figure = |case: &str, unit, value, target| Figure { case: case.to_owned(), unit, value, target };
    let goodput = overloaded.iter().map(served).sum();
    let mut figures = vec![
        figure("capacity", "requests/s", *capacity, None),
        figure("goodput", "% of capacity", goodput, Some((Better::AtLeast, GOODPUT_MIN))),
        figure("p99/unloaded", "ms", unloaded_p99, None),
        figure("p99/served", "ms", p99(overloaded), Some((Better::AtMost, bound))),
        figure("lost/top/at first", "requests", *lost_at_first as f64, Some((Better::AtMost, 0.0))),
    ];
    for ((tier, _), seen) in TIERS.iter().zip(overloaded).rev() {
        let target = (*tier == "top").then_some((Better::AtMost, 0.0));
        figures.push(figure(&format!("lost/{tier}"), "requests", seen.shed as f64, target));
        figures.push(figure(&format!("served/{tier}"), "% of capacity", served(seen), None));
    }
    figures
}

pub(super) fn print(measured: &Measured, format: Format) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for Figure { case, unit, value, target } in figures(measured) {
        match format {
            Format::Json => {
                let (better, target) = match target {
                    Some((Better::AtLeast, target)) => ("higher", Some(target)),
                    Some((Better::AtMost, target)) => ("lower", Some(target)),
                    None => ("", None),
                };
                let row = json!({"suite": "shed", "case": case, "unit": unit, "better": better, "ours": value,
                    "target": target});
                writeln!(out, "{row}")?;
            }
            Format::Table => {
                writeln!(out, "shed  {case:<20} {value:>9.1} {unit}{}", verdict(value, target))?;
            }
        }
    }
    Ok(())
}

fn verdict(value: f64, target: Option<(Better, f64)>) -> String {
    let (word, target, met) = match target {
        Some((Better::AtLeast, target)) => ("at least", target, value >= target),
        Some((Better::AtMost, target)) => ("at most", target, value <= target),
        None => return String::new(),
    };
    format!("   target: {word} {target:.1}   {}", if met { "met" } else { "MISSED" })
}

#[cfg(test)]
mod tests {
    use super::{Measured, Seen, figures, p99, verdict};
    use std::time::Duration;

    fn seen(shed: usize, took_ms: &[f64]) -> Seen {
        Seen { shed, took_ms: took_ms.to_vec() }
    }

    #[test]
    fn the_tail_is_that_of_all_tiers_together() {
        let fast = vec![1.0; 197];
        assert!((p99(&[seen(0, &fast), seen(9, &[5.0, 7.0, 9.0])]) - 7.0).abs() < 1e-9);
        assert!(p99(&[]).abs() < 1e-9);
    }

    #[test]
    fn losses_and_goodput_are_held_against_their_targets() {
        let measured = Measured {
            capacity: 4.0,
            unloaded: vec![seen(0, &[10.0])],
            lost_at_first: 0,
            overloaded: vec![seen(7, &[]), seen(5, &[30.0]), seen(0, &[20.0, 20.0])],
            time: Duration::from_secs(1),
        };
        let lines: Vec<String> = figures(&measured)
            .iter()
            .map(|figure| {
                format!("{} {:.0}{}", figure.case, figure.value, verdict(figure.value, figure.target))
            })
            .collect();
        assert!(lines.contains(&"goodput 75   target: at least 90.0   MISSED".to_owned()), "{lines:?}");
        assert!(lines.contains(&"p99/served 30   target: at most 40.0   met".to_owned()), "{lines:?}");
        assert!(lines.contains(&"lost/top 0   target: at most 0.0   met".to_owned()), "{lines:?}");
        assert!(lines.contains(&"lost/low 7".to_owned()), "{lines:?}");
    }
}
