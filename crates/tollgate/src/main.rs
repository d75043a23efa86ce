//! Tollgate, the binary: arguments, dispatch, exit status.

use std::process::ExitCode;

use clap::Parser as _;

mod cli;
mod commands;
mod exit;
mod output;
mod source;

fn main() -> ExitCode {
    // Wrong usage ends here, with 2; so do --help and --version, with 0.
    let cli = cli::Cli::parse();
    match commands::run(&cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::complain(&format!("error: {error:#}\n"));
            exit::Exit::Failed.into()
        }
    }
}
