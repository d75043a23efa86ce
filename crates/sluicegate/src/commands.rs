//! The commands: one file for each verb.

use crate::cli::Command;
use crate::exit::Exit;

mod account;
mod audit;
mod block;
mod check;
mod client;
mod clock;
mod completions;
mod config;
mod directory;
mod explain;
mod key;
mod ready;
mod serve;
mod token;
mod top;
mod usage;

/// Does what was asked for. An error is a failure that only needs to be printed.
pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Config(command) => config::run(command),
        Command::Account(command) => account::run(command),
        Command::Key(command) => key::run(command),
        Command::Token(command) => token::run(command),
        Command::Directory(command) => directory::run(command),
        Command::Block(command) => block::run(command),
        Command::Client(command) => client::run(command),
        Command::Clock(command) => clock::run(command),
        Command::Usage(command) => usage::run(command),
        Command::Audit(command) => audit::run(command),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Top(args) => top::run(args),
        Command::Ready(args) => ready::run(args),
        Command::Completions(args) => completions::run(args),
    }
}
