//! `sluicegate block`: its verbs, arguments and help.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::admin::{Admin, ListPart};

/// What can be done with blocks.
#[derive(Subcommand, Debug)]
pub(crate) enum Block {
    /// Refuse a client or a key for a while, on every node.
    #[command(after_help = "\
Examples:
  sluicegate block add cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0 --for 24h --reason scrapes
  sluicegate block add 4fVZ8pQ2mX0c --for 10m

A caller that is blocked already is blocked for as long as this says instead.
A key that is not to come back is better revoked: sluicegate key revoke.

Exit status: 0 blocked, 1 failed, 2 wrong usage.")]
    Add(BlockAdd),

    /// List who is blocked, by the callers' own doing or by yours.
    #[command(after_help = "\
Examples:
  sluicegate block list
  sluicegate block list --json | jq -r '.items[] | select(.origin == \"manual\").id'

Exit status: 0 listed, 1 failed, 2 wrong usage.")]
    List(BlockList),

    /// Lift a block, on every node.
    #[command(after_help = "\
Example:
  sluicegate block remove cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0

What made the caller be blocked is not forgotten: see sluicegate client reset.

Exit status: 0 lifted, 1 failed, 2 wrong usage.")]
    Remove(BlockRemove),
}

impl Block {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Add(args) => &args.admin,
            Self::List(args) => &args.admin,
            Self::Remove(args) => &args.admin,
        }
    }
}

/// Who is to be blocked.
#[derive(Args, Debug)]
pub(crate) struct BlockAdd {
    /// The client (`cl_...`), or the id of the key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) caller: String,

    /// For how long, such as 10m, 24h or 30d.
    #[arg(long = "for", value_name = "DURATION", default_value = "1h")]
    pub(crate) length: String,

    /// Why, for whoever reads the list.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// Which blocks.
#[derive(Args, Debug)]
pub(crate) struct BlockList {
    #[command(flatten)]
    pub(crate) part: ListPart,

    #[command(flatten)]
    admin: Admin,
}

/// Whose block.
#[derive(Args, Debug)]
pub(crate) struct BlockRemove {
    /// Whom `sluicegate block list` names, or the id of a key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) caller: String,

    #[command(flatten)]
    admin: Admin,
}
