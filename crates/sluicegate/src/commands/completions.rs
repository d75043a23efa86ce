//! `sluicegate completions`: a script with which a shell completes commands and options.

use clap::CommandFactory as _;

use crate::cli::{Cli, Completions};
use crate::exit::Exit;
use crate::output;

pub(super) fn run(args: &Completions) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sluicegate", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
