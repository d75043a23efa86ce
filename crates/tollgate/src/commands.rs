//! The commands: one file for each verb.

use crate::cli::Command;
use crate::exit::Exit;

mod config;
mod serve;

/// Does what was asked for. An error is a failure that only needs to be printed.
pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Config(command) => config::run(command),
    }
}
