//! `sluicegate check`: its arguments.

use std::num::NonZeroU64;

use clap::Args;

use crate::http_client::Endpoint;
use crate::output::Format;

/// The request that is asked about.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The caller's key; better SLUICEGATE_KEY, since others on this machine can see command lines.
    #[arg(long, value_name = "KEY", conflicts_with = "service_token")]
    pub(crate) key: Option<String>,

    /// A service token in place of a key; better SLUICEGATE_SERVICE_TOKEN, for the same reason.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) service_token: Option<String>,

    /// The path of the request.
    #[arg(long, default_value = "/")]
    pub(crate) path: String,

    /// The method of the request.
    #[arg(long, default_value = "GET")]
    pub(crate) method: String,

    /// What the request costs [default: what its route costs].
    #[arg(long, value_name = "N")]
    pub(crate) cost: Option<NonZeroU64>,

    /// Only look: charge nothing.
    #[arg(long)]
    pub(crate) peek: bool,

    /// Print the server's JSON instead of text.
    #[arg(long)]
    json: bool,

    /// Where the decision API is; outside this machine with https://, since the key is sent along.
    #[arg(
        long,
        value_name = "URL",
        env = "SLUICEGATE_DECISION_URL",
        default_value = "http://127.0.0.1:8081"
    )]
    pub(crate) decision_url: Endpoint,
}

impl Check {
    /// How the answer is to be printed.
    pub(crate) fn format(&self) -> Format {
        Format::of_json(self.json)
    }
}
