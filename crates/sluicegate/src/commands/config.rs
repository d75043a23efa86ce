//! `sluicegate config`: what can be done with a policy file without serving it.

use crate::cli::Config;
use crate::exit::Exit;

mod check;
mod explain;
mod problems;
mod schema;

pub(super) fn run(command: &Config) -> anyhow::Result<Exit> {
    match command {
        Config::Check(args) => check::run(args),
        Config::Explain(args) => explain::run(args),
        Config::Schema => schema::run(),
    }
}
