//! Sluicegate, the binary: arguments, dispatch, exit status.

use std::process::ExitCode;

use clap::Parser as _;

mod admin_client;
mod cli;
mod commands;
mod confirm;
mod environment;
mod exit;
mod http_client;
mod output;
mod service;
mod source;
mod table;
mod wait_text;

/// Many small things are allocated on many threads; the system's allocator is slower at both.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The one provider for everything that speaks TLS. It fails only if one is installed already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
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
