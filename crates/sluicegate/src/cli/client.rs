//! `sluicegate client`: its verbs, arguments and help.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::admin::Admin;

/// What can be done with callers that have no key.
#[derive(Subcommand, Debug)]
pub(crate) enum Client {
    /// Show what is held against a client, and what it has left.
    #[command(after_help = "\
Examples:
  sluicegate client show cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0
  sluicegate client show cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0 --json | jq .reputation.score

Exit status: 0 shown, 1 failed, 2 wrong usage.")]
    Show(ClientShow),

    /// Give a client its reputation back, forget its refusals, and lift its block.
    #[command(after_help = "\
Example:
  sluicegate client reset cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0

What the client has used of its limits stays used.

Exit status: 0 reset, 1 failed, 2 wrong usage.")]
    Reset(ClientReset),
}

impl Client {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Show(args) => &args.admin,
            Self::Reset(args) => &args.admin,
        }
    }
}

/// Which client.
#[derive(Args, Debug)]
pub(crate) struct ClientShow {
    /// The client (`cl_...`).
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    admin: Admin,
}

/// Which client.
#[derive(Args, Debug)]
pub(crate) struct ClientReset {
    /// The client (`cl_...`).
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    admin: Admin,
}
