//! The command line of the benchmark.

use clap::{Parser, ValueEnum};

use crate::callers::Callers;
use crate::core;
use crate::ledger;
use crate::load::options::LoadOptions;

/// Benchmarks of Sluicegate beside its peers.
#[derive(Parser)]
#[command(name = "sluicegate-bench")]
pub(crate) struct Arguments {
    /// What to measure, one after the other
    #[arg(required = true, value_name = "SUITE")]
    pub(crate) suites: Vec<Suite>,
    /// Print one JSON object per line instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// How many callers are known, as a list [default: 1k,1m,10m, or 1k,100k with --quick]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    callers: Option<Vec<Callers>>,
    /// Timed runs of each case of `core` and `ledger`, of which the median counts
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=1000))]
    runs: u32,
    /// A short look at `core` and `ledger`: fewer callers, fewer decisions, fewer records
    #[arg(long)]
    quick: bool,
    /// How many decisions the suites that count instructions make
    #[arg(long, hide = true, default_value_t = 100_000, value_name = "N")]
    pub(crate) decisions: u32,
    #[command(flatten)]
    pub(crate) load: LoadOptions,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Suite {
    /// One decision in memory: time, scaling over two threads, bytes per caller
    Core,
    /// Decisions asked for over HTTP, beside other servers
    Http,
    /// Decisions asked for over gRPC, as Envoy asks, beside another server
    Grpc,
    /// Requests through the gateway, beside other proxies
    Gateway,
    /// Decisions made in Redis, beside the scripts that one would write first
    Redis,
    /// Decisions asked for as Redis is asked, beside another server and a bare counter of Redis
    Resp,
    /// Millions of callers that come once: memory, and what known callers notice
    Abuse,
    /// Three times as many requests as the upstream can do: goodput, the tail, and who loses what
    Shed,
    /// Time until ready and memory, with 100,000 accounts
    Start,
    /// What `/metrics` takes with 100,000 accounts, 5,000 of them active
    Scrape,
    /// What a record costs, how fast records are counted, how soon usage is told
    Ledger,
    /// Decisions and nothing else, to be run under a counter of instructions
    #[value(hide = true)]
    Instructions,
    /// Whole decisions of an embedded engine, to be run under a counter of instructions
    #[value(hide = true)]
    EngineInstructions,
}

impl Arguments {
    pub(crate) fn core_options(&self) -> core::Options {
        let mut options = if self.quick { core::Options::quick() } else { core::Options::full() };
        if let Some(callers) = &self.callers {
            options.callers.clone_from(callers);
        }
        options.runs = self.runs;
        options
    }

    pub(crate) fn ledger_options(&self) -> ledger::Options {
        if self.quick { ledger::Options::quick(self.runs) } else { ledger::Options::full(self.runs) }
    }
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
        let error = Arguments::try_parse_from(["sluicegate-bench", "cor"]).err().unwrap().to_string();
        assert!(
            error.contains(
                "[possible values: core, http, grpc, gateway, redis, resp, abuse, shed, start, scrape, ledger]"
            ),
            "{error}"
        );
    }

    #[test]
    fn several_suites_may_be_named_but_not_none() {
        let arguments = Arguments::try_parse_from(["sluicegate-bench", "http", "gateway"]).unwrap();
        assert_eq!(arguments.suites.len(), 2);
        assert!(Arguments::try_parse_from(["sluicegate-bench"]).is_err());
    }

    #[test]
    fn a_peer_is_left_out_by_the_start_of_its_name() {
        let line = ["sluicegate-bench", "http", "--skip", "throttlecrab,nginx"];
        let load = Arguments::try_parse_from(line).unwrap().load;
        assert!(!load.wants("throttlecrab-server") && !load.wants("nginx limit_req"));
        assert!(load.wants("limitador in axum"));
    }

    #[test]
    fn callers_are_a_list() {
        let arguments =
            Arguments::try_parse_from(["sluicegate-bench", "core", "--callers", "1k,1m"]).unwrap();
        let labels: Vec<String> = arguments.callers.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(labels, ["1k", "1m"]);
    }

    #[test]
    fn fewer_than_five_runs_are_refused() {
        assert!(Arguments::try_parse_from(["sluicegate-bench", "core", "--runs", "4"]).is_err());
    }
}
