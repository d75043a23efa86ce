//! The command line: every command, argument and help text.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::Format;

/// An exact gatekeeper for APIs sold in plans: rate, quota and concurrency in one decision, recorded for the bill.
#[derive(Parser, Debug)]
#[command(name = "tollgate", version, disable_help_subcommand = true)]
#[command(after_help = "\
Example:
  tollgate config check tollgate.yaml

Exit status: 0 done, 1 failed, 2 wrong usage, 78 the configuration is invalid.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What tollgate can be told to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check, explain and describe policy files.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  tollgate config check tollgate.yaml && tollgate config explain tollgate.yaml")]
    Config(Config),
}

/// What can be done with policy files.
#[derive(Subcommand, Debug)]
pub(crate) enum Config {
    /// Report every problem of a policy file at once: where it stands, and what to write instead.
    #[command(after_help = "\
Examples:
  tollgate config check tollgate.yaml
  tollgate config check --json tollgate.yaml
  generate-policy | tollgate config check -

Exit status: 0 the file is valid, 1 it cannot be read, 78 it is invalid.")]
    Check(ConfigFile),

    /// Show the tiers of a policy file as tables of limits, each with what it admits in the worst case.
    #[command(after_help = "\
Examples:
  tollgate config explain tollgate.yaml
  tollgate config explain --json tollgate.yaml

Exit status: 0 explained, 1 the file cannot be read, 78 it is invalid.")]
    Explain(ConfigFile),

    /// Print the JSON Schema of policy files, for editors.
    #[command(after_help = "\
Example:
  tollgate config schema > tollgate.schema.json

Editors that use the YAML language server then check a policy file that starts with
  # yaml-language-server: $schema=tollgate.schema.json")]
    Schema,
}

/// The policy file a command is about.
#[derive(Args, Debug)]
pub(crate) struct ConfigFile {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl ConfigFile {
    /// How the answer is to be printed.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }
}
