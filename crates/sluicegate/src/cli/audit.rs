//! `sluicegate audit`: its verbs, arguments and help.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sluicegate_ledger::chain::PublicKey;

use super::DATA_DIR_DEFAULT;
use super::admin::Admin;
use crate::http_client::Endpoint;
use crate::output::Format;

/// What can be done with the proof of what was recorded.
#[derive(Subcommand, Debug)]
pub(crate) enum Audit {
    /// Check every record of usage and every entry of the audit log against what was signed of them.
    #[command(after_help = "\
Examples:
  sluicegate audit verify
  sluicegate audit verify --data-dir /var/lib/sluicegate
  sluicegate audit verify --json | jq -r .public_key

Nothing is changed, and a server may run beside it. The first record, segment, line or entry that is not what it was
is named. Keep the public key elsewhere, and give it with --public-key: whoever can write to the data directory can
sign another history with another key.

Where nodes share a store the audit log is there, and is asked for through the admin API.

Exit status: 0 everything is what it was, 1 something is not or cannot be read, 2 wrong usage.")]
    Verify(AuditVerify),
}

/// What is to be checked.
#[derive(Args, Debug)]
pub(crate) struct AuditVerify {
    /// The data directory of the server, or a copy of it.
    #[arg(long, value_name = "DIR", env = "SLUICEGATE_DATA_DIR", default_value = DATA_DIR_DEFAULT)]
    pub(crate) data_dir: PathBuf,

    /// The key with which everything must be signed, 64 hexadecimal digits [default: the one that is found].
    #[arg(long, value_name = "HEX", value_parser = public_key)]
    pub(crate) public_key: Option<PublicKey>,

    /// Where the admin API is; only asked where nodes share a store.
    #[arg(long, value_name = "URL", env = "SLUICEGATE_ADMIN_URL", default_value = "http://127.0.0.1:9090")]
    admin_url: Endpoint,

    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl AuditVerify {
    /// How the answer is to be printed.
    pub(crate) fn format(&self) -> Format {
        Format::of_json(self.json)
    }

    /// The server that may be asked.
    pub(crate) fn admin(&self) -> Admin {
        Admin::new(self.json, self.admin_url.clone(), self.data_dir.clone())
    }
}

fn public_key(text: &str) -> Result<PublicKey, String> {
    text.parse().map_err(|_| "expected 64 hexadecimal digits in lower case".to_owned())
}
