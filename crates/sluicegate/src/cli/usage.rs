//! `sluicegate usage`: its verbs, arguments and help.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::admin::{Admin, Sure};
use crate::http_client::Endpoint;

/// What can be done with usage.
#[derive(Subcommand, Debug)]
pub(crate) enum Usage {
    /// Show what was used, up to this moment.
    #[command(after_help = "\
Examples:
  sluicegate usage show
  sluicegate usage show acme --from 7d
  sluicegate usage show acme --from 2026-11-01 --to 2026-12-01 --step month --json | jq .total
  sluicegate usage show acme~3763536543744000

An account that was deleted is shown by its name and unique id; the name alone finds the account
that has it now, or the last one that had it.

Each node keeps books of its own requests; files that were exported bring them together.

Exit status: 0 shown, 1 failed, 2 wrong usage.")]
    Show(UsageShow),

    /// Write usage as a file for other programs.
    #[command(after_help = "\
Examples:
  sluicegate usage export --from 2026-11-01 --to 2026-12-01 --out november.csv
  sluicegate usage export --format parquet --out usage.parquet
  sluicegate usage export --format cloudevents --from 1d | while read -r event; do echo \"$event\"; done
  sluicegate usage export --format stripe --event-name api_requests --out events.jsonl

CloudEvents and Stripe's meter events are made of closed hours only, with ids that follow from what they are about:
sent twice, they count once.

Exit status: 0 written, 1 failed, 2 wrong usage.")]
    Export(UsageExport),

    /// Compare the ledger with the meters of quotas, with its own records, with sealed files, or with a bill.
    #[command(after_help = "\
Examples:
  sluicegate usage reconcile
  sluicegate usage reconcile --against sealed --from 2026-11-01
  sluicegate usage reconcile --bill november.csv --from 2026-11-01 --to 2026-12-01
  sluicegate usage reconcile --repair --yes
  sluicegate usage reconcile --repair --alone --yes
  sluicegate usage reconcile --node http://node-2:9090 --node http://node-3:9090

A bill has a header and the columns `account` and `total`; with a column `hour` it is compared by the hour.
Nodes that share a store have one meter and a ledger each: name the others with --node.
To repair meters in Redis where there is only one node, say --alone.

Exit status: 0 everything agrees, 1 something does not, or failed, 2 wrong usage.")]
    Reconcile(UsageReconcile),
}

impl Usage {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Show(args) => &args.admin,
            Self::Export(args) => &args.admin,
            Self::Reconcile(args) => &args.admin,
        }
    }
}

/// Which usage.
#[derive(Args, Debug)]
pub(crate) struct Period {
    /// From this instant or day on, or from so long ago: 2026-11-01T12:00:00Z, 2026-11-01, 7d.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// Up to this instant or day, and without it [default: now].
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
}

/// Which usage, and in which steps.
#[derive(Args, Debug)]
pub(crate) struct UsageShow {
    /// Of this account only.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) account: Option<String>,

    /// Of this key only, by its id.
    #[arg(long, value_name = "ID")]
    pub(crate) key: Option<String>,

    /// Of this route only.
    #[arg(long, value_name = "NAME")]
    pub(crate) route: Option<String>,

    #[command(flatten)]
    pub(crate) period: Period,

    /// How long each line of the chart is.
    #[arg(long, value_enum, default_value_t = Step::Day)]
    pub(crate) step: Step,

    /// The time zone in which days and months begin [default: UTC].
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// How long each line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Step {
    #[value(name = "15m")]
    Quarter,
    Hour,
    Day,
    Month,
}

impl Step {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Quarter => "15m",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// How far back it is worth looking.
    pub(crate) const fn span(self) -> &'static str {
        match self {
            Self::Quarter => "6h",
            Self::Hour => "24h",
            Self::Day => "30d",
            Self::Month => "365d",
        }
    }
}

/// Which usage, and what it is written as.
#[derive(Args, Debug)]
pub(crate) struct UsageExport {
    /// What it is written as: values with commas, an object on each line, a Parquet file, events as OpenMeter takes
    /// them, or events for Stripe's meters.
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub(crate) format: ExportFormat,

    /// Of this account only.
    #[arg(long, value_name = "ID")]
    pub(crate) account: Option<String>,

    #[command(flatten)]
    pub(crate) period: Period,

    /// The file, which is there when all of it is [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// The name of the meter's events, for Stripe.
    #[arg(long, value_name = "NAME")]
    pub(crate) event_name: Option<String>,

    /// Under which name the meter looks for the customer, for Stripe.
    #[arg(long, value_name = "NAME")]
    pub(crate) customer_key: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// What usage is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    Csv,
    Jsonl,
    Parquet,
    Cloudevents,
    Stripe,
}

impl ExportFormat {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Cloudevents => "cloudevents",
            Self::Stripe => "stripe",
        }
    }
}

/// What is compared.
#[derive(Args, Debug)]
pub(crate) struct UsageReconcile {
    /// What the ledger is compared with: the meters of quotas, its own records, the files that were sealed, or a bill
    /// [default: meters, or bill if one is given].
    #[arg(long, value_enum)]
    pub(crate) against: Option<Against>,

    /// A bill, as comma-separated values.
    #[arg(long, value_name = "FILE")]
    pub(crate) bill: Option<PathBuf>,

    /// Of this account only, where meters are compared.
    #[arg(long, value_name = "ID")]
    pub(crate) account: Option<String>,

    #[command(flatten)]
    pub(crate) period: Period,

    /// Set meters right that do not say what the ledger says; count roll-ups again from the records; write files anew
    /// that are missing or damaged.
    #[arg(long)]
    pub(crate) repair: bool,

    /// The admin API of another node that shares the store; it takes the same token.
    #[arg(long, value_name = "URL")]
    pub(crate) node: Vec<Endpoint>,

    /// No other node shares the store: this one has all records.
    #[arg(long, conflicts_with = "node")]
    pub(crate) alone: bool,

    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    pub(crate) admin: Admin,
}

/// What the ledger is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Against {
    Meters,
    Records,
    Sealed,
    Bill,
}

impl Against {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Meters => "meters",
            Self::Records => "records",
            Self::Sealed => "sealed",
            Self::Bill => "bill",
        }
    }
}
