//! The commands: one file for each verb.

use crate::cli::Command;
use crate::exit::Exit;

mod config;

/// Does what was asked for. An error is a failure that only needs to be printed.
pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Config(command) => config::run(command),
    }
}
