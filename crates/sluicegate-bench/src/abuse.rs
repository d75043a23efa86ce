//! The suite `abuse`: millions of callers that come once, and what those notice who were there before.
//!
//! The engine is asked directly, under a clock of its own, so that nothing but its memory and its answers are measured.

mod node;

use std::io::Write as _;

use anyhow::Result;
use serde_json::json;

use self::node::{KNOWN, Node};
use crate::load::usage::Resident;
use crate::report::{Format, note};
use crate::timing::stopwatch;

/// Callers of each kind that come once.
const STRANGERS: u32 = 10_000_000;
/// Callers without a key that have meters of their own.
const CLIENTS_MAX: u32 = 1_000_000;
/// What the policy asks for: so many clients at most, and what a node takes without any.
const BYTES_MAX: f64 = CLIENTS_MAX as f64 * 300.0 + 150e6;
/// Decisions of which the time is taken.
const TIMED: u32 = 200_000;
/// A blocked caller costs less than this part of a decision.
const BLOCKED_MAX: f64 = 0.1;

/// One figure, and what it is held against.
struct Figure {
    case: &'static str,
    unit: &'static str,
    value: f64,
    most: Option<f64>,
}

/// Measures and prints.
pub(crate) fn run(format: Format) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut node = Node::open(folder.path(), CLIENTS_MAX)?;
    let mut figures = vec![figure("memory/idle", "MB", resident()?, None)];
    let before = node.time_known(TIMED);
    let (client, blocked) = (node.time_client(TIMED), node.time_blocked(TIMED)?);
    note("ten million addresses, each once");
    let refused = strangers(&mut node, Node::address, &mut figures, "addresses")?;
    figures.push(figure("refused/addresses", "", refused, Some(1.0)));
    note("ten million fingerprints, each once");
    let refused = strangers(&mut node, Node::fingerprint, &mut figures, "fingerprints")?;
    figures.push(figure("refused/fingerprints", "", refused, Some(1.0)));
    let lost = node.known_clients_that_lost_anything();
    figures.push(figure("known clients with another limit", "", f64::from(lost), Some(1.0)));
    let refused = node.known_accounts_refused();
    figures.push(figure("known accounts refused", "", f64::from(refused), Some(1.0)));
    let after = node.time_known(TIMED);
    figures.push(figure("known/before", "ns", before, None));
    figures.push(figure("known/after", "ns", after, None));
    figures.push(figure("a client", "ns", client, None));
    figures.push(figure("a blocked client", "ns", blocked, None));
    figures.push(figure("blocked/client", "", blocked / client, Some(BLOCKED_MAX)));
    print(&figures, format)
}

const fn figure(case: &'static str, unit: &'static str, value: f64, most: Option<f64>) -> Figure {
    Figure { case, unit, value, most }
}

/// How many of those who come once are refused.
fn strangers(
    node: &mut Node,
    send: impl Fn(&mut Node, u32) -> bool,
    figures: &mut Vec<Figure>,
    name: &'static str,
) -> Result<f64> {
    let (mut refused, mut most) = (0_u32, 0.0_f64);
    let watch = stopwatch();
    for number in 0..STRANGERS {
        refused += u32::from(!send(node, number));
        if number % (STRANGERS / 20) == 0 {
            most = most.max(resident()?);
        }
    }
    let took = watch.elapsed().as_secs_f64();
    let (memory, speed) = match name {
        "addresses" => ("memory/addresses", "decisions/addresses"),
        _ => ("memory/fingerprints", "decisions/fingerprints"),
    };
    figures.push(figure(memory, "MB", most.max(resident()?), Some(BYTES_MAX / 1e6)));
    figures.push(figure(speed, "per s", f64::from(STRANGERS) / took, None));
    Ok(f64::from(refused))
}

/// What this process keeps, in megabytes, without the pages of files.
fn resident() -> Result<f64> {
    Ok(Resident::of(std::process::id())?.anonymous as f64 / 1e6)
}

fn print(figures: &[Figure], format: Format) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for Figure { case, unit, value, most } in figures {
        match format {
            Format::Json => {
                let row =
                    json!({"suite": "abuse", "case": case, "unit": unit, "ours": value, "target": most});
                writeln!(out, "{row}")?;
            }
            Format::Table => {
                let verdict = most.map_or_else(String::new, |most| {
                    format!("   target < {most}   {}", if *value < most { "met" } else { "MISSED" })
                });
                writeln!(out, "abuse  {case:<34} {value:>12.2} {unit}{verdict}")?;
            }
        }
    }
    writeln!(
        out,
        "abuse  {KNOWN} accounts and {KNOWN} clients were known before; {CLIENTS_MAX} clients at most"
    )?;
    Ok(())
}
