//! Benchmarks of Tollgate beside its peers, in one run on one machine.
//!
//! A suite is a name; it prints rows that each hold one figure of ours beside one of a peer's. Absolute figures
//! belong to the machine, so what is compared over time is the ratio.

#![allow(
    clippy::float_arithmetic,
    reason = "figures are averages, medians and ratios; nothing is decided on them"
)]

mod callers;
mod contestant;
mod core;
mod instructions;
mod machine;
mod memory;
mod ours;
mod peers;
mod report;
mod timing;
mod workload;

use crate::callers::Callers;
use crate::machine::Ticks;
use crate::report::{Format, Report, note};
use clap::{Parser, ValueEnum};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Benchmarks of Tollgate beside its peers.
#[derive(Parser)]
#[command(name = "tollgate-bench")]
struct Arguments {
    /// What to measure
    suite: Suite,
    /// Print one JSON object per line instead of a table
    #[arg(long)]
    json: bool,
    /// How many callers are known, as a list [default: 1k,1m,10m, or 1k,100k with --quick]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    callers: Option<Vec<Callers>>,
    /// Timed runs of each case, of which the median counts
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1000))]
    runs: u32,
    /// A short look: fewer callers, fewer decisions
    #[arg(long)]
    quick: bool,
    /// How many decisions the suite `instructions` makes
    #[arg(long, hide = true, default_value_t = 100_000, value_name = "N")]
    decisions: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    /// One decision in memory: time, scaling over two threads, bytes per caller
    Core,
    /// Decisions and nothing else, to be run under a counter of instructions
    #[value(hide = true)]
    Instructions,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let format = if arguments.json { Format::Json } else { Format::Table };
    let mut report = Report::new(format);
    let before = Ticks::read();
    match arguments.suite {
        Suite::Core => core::run(&core_options(&arguments), &mut report)?,
        // Everything around it would be counted too.
        Suite::Instructions => return instructions::run(arguments.decisions),
    }
    report.finish()?;
    if let (Some(before), Some(after)) = (before, Ticks::read())
        && let Some(warning) = before.warning(after)
    {
        note(&warning);
    }
    Ok(())
}

fn core_options(arguments: &Arguments) -> core::Options {
    let mut options = if arguments.quick { core::Options::quick() } else { core::Options::full() };
    if let Some(callers) = &arguments.callers {
        options.callers.clone_from(callers);
    }
    options.runs = arguments.runs;
    options
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_unknown_suite_lists_the_known_ones() {
        let error = Arguments::try_parse_from(["tollgate-bench", "cor"]).err().unwrap().to_string();
        assert!(error.contains("[possible values: core]"), "{error}");
    }

    #[test]
    fn callers_are_a_list() {
        let arguments = Arguments::try_parse_from(["tollgate-bench", "core", "--callers", "1k,1m"]).unwrap();
        let labels: Vec<String> = arguments.callers.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(labels, ["1k", "1m"]);
    }

    #[test]
    fn fewer_than_five_runs_are_refused() {
        assert!(Arguments::try_parse_from(["tollgate-bench", "core", "--runs", "4"]).is_err());
    }
}
