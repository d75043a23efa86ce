//! Benchmarks of Sluicegate beside its peers, in one run on one machine.
//!
//! A suite is a name; it prints rows that each hold one figure of ours beside one of a peer's. Absolute figures
//! belong to the machine, so what is compared over time is the ratio.

#![allow(
    clippy::float_arithmetic,
    reason = "figures are averages, medians and ratios; nothing is decided on them"
)]

mod abuse;
mod callers;
mod cli;
mod contestant;
mod core;
mod gateway;
mod grpc;
mod http;
mod instructions;
mod ledger;
mod load;
mod machine;
mod memory;
mod ours;
mod peers;
mod redis;
mod report;
mod resp;
mod scrape;
mod shed;
mod start;
mod timing;
mod workload;

use crate::cli::{Arguments, Suite};
use crate::machine::Ticks;
use crate::report::{Format, Report, note};
use clap::Parser;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let format = if arguments.json { Format::Json } else { Format::Table };
    for suite in &arguments.suites {
        match suite {
            Suite::Core => core(&arguments, format)?,
            Suite::Http => http::run(&arguments.load, format)?,
            Suite::Grpc => grpc::run(&arguments.load, format)?,
            Suite::Gateway => gateway::run(&arguments.load, format)?,
            Suite::Redis => redis::run(&arguments.load, format)?,
            Suite::Resp => resp::run(&arguments.load, format)?,
            Suite::Abuse => abuse::run(format)?,
            Suite::Shed => shed::run(&arguments.load, format)?,
            Suite::Start => start::run(&arguments.load, format)?,
            Suite::Scrape => scrape::run(&arguments.load, format)?,
            Suite::Ledger => ledger::run(&arguments.ledger_options(), format)?,
            Suite::Instructions => instructions::run(arguments.decisions)?,
            Suite::EngineInstructions => instructions::engine::run(arguments.decisions)?,
        }
    }
    Ok(())
}

fn core(arguments: &Arguments, format: Format) -> anyhow::Result<()> {
    let mut report = Report::new(format);
    let before = Ticks::read();
    core::run(&arguments.core_options(), &mut report)?;
    report.finish()?;
    if let (Some(before), Some(after)) = (before, Ticks::read())
        && let Some(warning) = before.warning(after)
    {
        note(&warning);
    }
    Ok(())
}
