//! `sluicegate top`: its arguments.

use clap::Args;

use super::admin::Admin;

/// What is watched.
#[derive(Args, Debug)]
pub(crate) struct Top {
    /// How many seconds lie between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) every: u64,

    #[command(flatten)]
    pub(crate) admin: Admin,
}
