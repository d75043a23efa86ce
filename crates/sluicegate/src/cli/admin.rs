//! What the commands that use the admin API have in common.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::DATA_DIR_DEFAULT;
use crate::http_client::Endpoint;
use crate::output::Format;

/// Entries that are listed unless a command is told otherwise: more scroll by unread.
const LIST_MAX_DEFAULT: u32 = 10_000;

/// Which server, and how its answer is printed.
#[derive(Args, Debug)]
pub(crate) struct Admin {
    /// Print the server's JSON instead of text.
    #[arg(long)]
    json: bool,

    /// Where the admin API is; outside this machine with https://, since the admin token is sent along.
    #[arg(long, value_name = "URL", env = "SLUICEGATE_ADMIN_URL", default_value = "http://127.0.0.1:9090")]
    pub(crate) admin_url: Endpoint,

    /// The server's data directory, where the admin token is unless SLUICEGATE_ADMIN_TOKEN says it.
    #[arg(long, value_name = "DIR", env = "SLUICEGATE_DATA_DIR", default_value = DATA_DIR_DEFAULT)]
    pub(crate) data_dir: PathBuf,
}

impl Admin {
    /// For a command that says in its own words what these are to it.
    pub(super) fn new(json: bool, admin_url: Endpoint, data_dir: PathBuf) -> Self {
        Self { json, admin_url, data_dir }
    }

    /// The same for another server.
    pub(crate) fn at(&self, admin_url: Endpoint) -> Self {
        Self { json: self.json, admin_url, data_dir: self.data_dir.clone() }
    }

    /// How the answer is to be printed.
    pub(crate) fn format(&self) -> Format {
        Format::of_json(self.json)
    }
}

/// Which part of a list.
#[derive(Args, Debug)]
pub(crate) struct ListPart {
    /// How many are listed at most.
    #[arg(long, value_name = "N", default_value_t = LIST_MAX_DEFAULT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,

    /// Where a list that was cut goes on.
    #[arg(long, value_name = "CURSOR", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) cursor: Option<String>,
}

/// Whether to ask before something is done that cannot be undone.
#[derive(Args, Debug)]
pub(crate) struct Sure {
    /// Do not ask. Needed where nobody can be asked, as in a script.
    #[arg(long, short)]
    pub(crate) yes: bool,
}
