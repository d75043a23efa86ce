//! How the suites with servers are run.

use std::path::PathBuf;

use clap::Args;

/// How the suites with servers are run.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadOptions {
    /// How long each round of a contestant lasts, in seconds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// How many rounds each contestant has, of which the median counts
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Contestants to leave out, by the start of their names: throttlecrab, nginx, …
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) skip: Vec<String>,
    /// The sluicegate to measure [default: built here, with the profile that packages are built with]
    #[arg(long, value_name = "PATH")]
    pub(crate) sluicegate: Option<PathBuf>,
    /// The program with the small servers of this benchmark [default: built here, with the same profile]
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) peer: Option<PathBuf>,
}

impl LoadOptions {
    /// Whether a contestant takes part.
    pub(crate) fn wants(&self, name: &str) -> bool {
        !self.skip.iter().any(|skipped| name.starts_with(skipped.as_str()))
    }
}
