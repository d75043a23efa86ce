//! `sluicegate key`: its verbs, arguments and help.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::admin::{Admin, ListPart, Sure};

/// What can be done with keys.
#[derive(Subcommand, Debug)]
pub(crate) enum Key {
    /// Make a key for an account, and show it this once.
    #[command(after_help = "\
Examples:
  sluicegate key create acme --name production
  sluicegate key create acme --name ci --env test --expires-at 2027-01-31T00:00:00Z
  sluicegate key create acme --name reports --scope reports:read --scope reports:write
  sluicegate key create acme --name production --json | jq -r .key

Only a hash of the key is kept: who loses it rotates it.

Exit status: 0 made, 1 failed, 2 wrong usage.")]
    Create(KeyCreate),

    /// List the keys of an account, revoked ones included.
    #[command(after_help = "\
Examples:
  sluicegate key list acme
  sluicegate key list acme --json | jq -r '.items[] | select(.status == \"active\").id'

Exit status: 0 listed, 1 failed, 2 wrong usage.")]
    List(KeyList),

    /// Show what is known of a key. The key itself is not.
    #[command(after_help = "\
Example:
  sluicegate key show 4fVZ8pQ2mX0c

The id of a key is its third part: sg_live_4fVZ8pQ2mX0c_...

Exit status: 0 shown, 1 failed, 2 wrong usage.")]
    Show(KeyShow),

    /// Give a key a new secret, and show it this once. The old one lives on for a while.
    #[command(after_help = "\
Examples:
  sluicegate key rotate 4fVZ8pQ2mX0c
  sluicegate key rotate 4fVZ8pQ2mX0c --overlap 0s

Exit status: 0 rotated, 1 failed, 2 wrong usage.")]
    Rotate(KeyRotate),

    /// Make a key invalid from the next request on, for good.
    #[command(after_help = "\
Examples:
  sluicegate key revoke 4fVZ8pQ2mX0c
  sluicegate key revoke 4fVZ8pQ2mX0c --yes

Exit status: 0 revoked, 1 failed or not confirmed, 2 wrong usage.")]
    Revoke(KeyRevoke),
}

impl Key {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Create(args) => &args.admin,
            Self::List(args) => &args.admin,
            Self::Show(args) => &args.admin,
            Self::Rotate(args) => &args.admin,
            Self::Revoke(args) => &args.admin,
        }
    }
}

/// A key to be made.
#[derive(Args, Debug)]
pub(crate) struct KeyCreate {
    /// The account whose key it is.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) account: String,

    /// What people call it.
    #[arg(long)]
    pub(crate) name: String,

    /// What it is for: production, or trying things out.
    #[arg(long, default_value = "live")]
    pub(crate) env: KeyEnv,

    /// What it may be used for, given once for each; `*` is everything [default: nothing that demands a scope].
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,

    /// From when on it is invalid, such as 2027-01-31T00:00:00Z [default: never].
    #[arg(long, value_name = "TIME")]
    pub(crate) expires_at: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// What a key is for: production, or trying things out.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum KeyEnv {
    Live,
    Test,
}

impl KeyEnv {
    /// As the server calls it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

/// Whose keys.
#[derive(Args, Debug)]
pub(crate) struct KeyList {
    /// The account whose keys they are.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) account: String,

    #[command(flatten)]
    pub(crate) part: ListPart,

    #[command(flatten)]
    admin: Admin,
}

/// Which key.
#[derive(Args, Debug)]
pub(crate) struct KeyShow {
    /// The id of the key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    admin: Admin,
}

/// Which key, and how.
#[derive(Args, Debug)]
pub(crate) struct KeyRotate {
    /// The id of the key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    /// How long the old secret still lives, such as 30m, 24h or 7d; 0s ends it at once [default: 24h].
    #[arg(long, value_name = "DURATION")]
    pub(crate) overlap: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// Which key.
#[derive(Args, Debug)]
pub(crate) struct KeyRevoke {
    /// The id of the key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    admin: Admin,
}
