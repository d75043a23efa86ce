//! The suite `ledger`: what a record costs, how fast records are counted, how soon usage is told.

mod records;

use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;
use sluicegate_ledger::usage::{Book, Query, Step};
use sluicegate_ledger::{Hour, Spool, SpoolSettings};

use crate::report::{Format, note};
use crate::timing::{median, stopwatch, timed};
use records::{Pattern, fill, paced};

const APPEND_NS_TARGET: f64 = 150.0;
const ROLL_S_TARGET: f64 = 20.0;
const QUERY_MS_TARGET: f64 = 50.0;

/// How much to measure.
pub(crate) struct Options {
    /// Records that are appended and counted.
    records: u64,
    /// Hours of the year that is asked for, and accounts that used something in each.
    hours: u32,
    accounts: u64,
    runs: u32,
}

impl Options {
    pub(crate) const fn full(runs: u32) -> Self {
        Self { records: 10_000_000, hours: 8_760, accounts: 100, runs }
    }

    pub(crate) const fn quick(runs: u32) -> Self {
        Self { records: 200_000, hours: 200, accounts: 10, runs }
    }
}

/// One figure.
struct Figure {
    case: String,
    unit: &'static str,
    value: f64,
    target: Option<f64>,
}

/// Measures and prints.
pub(crate) fn run(options: &Options, format: Format) -> Result<()> {
    let mut figures = counting(options)?;
    figures.extend(asking(options)?);
    print(&figures, format)
}

/// Appends records, and counts them.
fn counting(options: &Options) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let (book, spool) = open(folder.path())?;
    note(&format!("appending {} records", options.records));
    let paced_groups = options.records / 50;
    let one = median(paced(&pacing(folder.path())?, Pattern::Busy, paced_groups));
    let alone = fill(&spool, Pattern::Busy, options.records / 2, 1)?;
    let together = fill(&spool, Pattern::Busy, options.records / 2, 2)?;
    spool.flush()?;
    note("counting them");
    let (rolled, took) = timed(|| book.roll(&spool));
    let rolled = rolled?;
    ensure!(rolled.records == options.records / 2 * 2, "{} records were counted", rolled.records);
    let total = book.query(&spool, &Query::default())?.sums.requests;
    ensure!(total == i128::from(rolled.records), "{total} requests are in the book");
    let rolling = took.as_secs_f64();
    Ok(vec![
        figure("append/median", "ns", one, Some(APPEND_NS_TARGET)),
        figure("append/1t at full speed", "ns", alone, None),
        figure("append/2t at full speed", "ns", together, None),
        figure(format!("roll/{} records", options.records), "s", rolling, Some(ROLL_S_TARGET)),
        figure("roll/record", "ns", rolling * 1e9 / rolled.records as f64, None),
    ])
}

/// Fills a year, and asks for it.
fn asking(options: &Options) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let (book, spool) = open(folder.path())?;
    let records = u64::from(options.hours) * options.accounts * Pattern::ROWS_OF_AN_HOUR;
    note(&format!("filling {} hours of {} accounts", options.hours, options.accounts));
    fill(&spool, Pattern::Year { accounts: options.accounts }, records, 1)?;
    spool.flush()?;
    book.roll(&spool)?;
    let all = Query { account: Some(1), ..Query::default() };
    let cases = [
        ("query/account/hours", all.clone()),
        ("query/account/days", Query { step: Step::Day, ..all.clone() }),
        ("query/key/hours", Query { key: Some(1), ..all.clone() }),
        ("query/route/hours", Query { route: Some(2), ..all }),
    ];
    let mut figures = Vec::new();
    for (name, query) in cases {
        let mut took = Vec::new();
        for _ in 0..options.runs.max(5) {
            let watch = stopwatch();
            let usage = book.query(&spool, &query)?;
            took.push(watch.elapsed().as_secs_f64() * 1e3);
            let hours = usage.series.iter().map(|point| point.start.hour()).collect::<Vec<Hour>>();
            ensure!(query.step != Step::Hour || hours.len() == options.hours as usize, "hours are missing");
        }
        figures.push(figure(name, "ms", median(took), Some(QUERY_MS_TARGET)));
    }
    Ok(figures)
}

fn open(folder: &Path) -> Result<(Book, Spool)> {
    let spool = Spool::open(&folder.join("spool"), SpoolSettings::default())?;
    Ok((Book::open(&folder.join("usage.db"))?, spool))
}

/// A spool of its own for records that come at the pace of decisions.
fn pacing(folder: &Path) -> Result<Spool> {
    Ok(Spool::open(&folder.join("paced"), SpoolSettings::default())?)
}

fn figure(case: impl Into<String>, unit: &'static str, value: f64, target: Option<f64>) -> Figure {
    Figure { case: case.into(), unit, value, target }
}

fn print(figures: &[Figure], format: Format) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for Figure { case, unit, value, target } in figures {
        match format {
            Format::Json => {
                let row = json!({"suite": "ledger", "case": case, "unit": unit, "better": "lower", "ours": value,
                    "target": target});
                writeln!(out, "{row}")?;
            }
            Format::Table => {
                let verdict = target.map_or_else(String::new, |target| {
                    let met = if *value < target { "met" } else { "MISSED" };
                    format!("   target < {target:.0} {unit}   {met}")
                });
                writeln!(out, "ledger  {case:<24} {value:>8.1} {unit}{verdict}")?;
            }
        }
    }
    Ok(())
}
