//! `sluicegate token`: its verbs, arguments and help.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::admin::{Admin, Sure};

/// What can be done with tokens.
#[derive(Subcommand, Debug)]
pub(crate) enum Token {
    /// Create a token, and show it this once.
    #[command(after_help = "\
Examples:
  sluicegate token create prometheus --role metrics
  sluicegate token create anna --role operator --expires-at 2027-01-31T00:00:00Z
  sluicegate token create envoy --role decide --may vouch,refund
  sluicegate token create ci --role keys --json | jq -r .token

Roles: metrics reads /metrics; read reads everything but secrets; keys also manages keys; operator also manages
accounts, blocks and usage; owner does everything; decide asks the decision API and RESP, and nothing else.

Only a hash of the token is kept. Audit entries name its holder by the token's name.

Exit status: 0 created, 1 failed, 2 wrong usage.")]
    Create(TokenCreate),

    /// List the tokens that are not revoked.
    #[command(after_help = "\
Examples:
  sluicegate token list
  sluicegate token list --json | jq -r '.items[] | select(.role == \"owner\").name'

Exit status: 0 listed, 1 failed, 2 wrong usage.")]
    List(TokenList),

    /// Make a token invalid, for good: at once, and at every node within a second.
    #[command(after_help = "\
Examples:
  sluicegate token revoke 4fVZ8pQ2mX0c
  sluicegate token revoke 4fVZ8pQ2mX0c --yes

The id of a token is its second part: sgt_4fVZ8pQ2mX0c_...

Exit status: 0 revoked, 1 failed or not confirmed, 2 wrong usage.")]
    Revoke(TokenRevoke),
}

impl Token {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Create(args) => &args.admin,
            Self::List(args) => &args.admin,
            Self::Revoke(args) => &args.admin,
        }
    }
}

/// A token to be created.
#[derive(Args, Debug)]
pub(crate) struct TokenCreate {
    /// Its name, which no other token has: letters, digits, `-`, `_`, `.` and `@`.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,

    /// What it is for.
    #[arg(long)]
    pub(crate) role: TokenRole,

    /// What a token with the role decide may do beyond asking: name accounts without their keys, give back what was
    /// charged.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) may: Vec<TokenMay>,

    /// From when on it is invalid, such as 2027-01-31T00:00:00Z [default: never].
    #[arg(long, value_name = "TIME")]
    pub(crate) expires_at: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// What a token is for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum TokenRole {
    Metrics,
    Read,
    Decide,
    Keys,
    Operator,
    Owner,
}

impl TokenRole {
    /// As the server calls it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Keys => "keys",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }
}

/// What a token may do beyond asking for decisions.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum TokenMay {
    Vouch,
    Refund,
}

impl TokenMay {
    /// As the server calls it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Refund => "refund",
        }
    }
}

/// All tokens.
#[derive(Args, Debug)]
pub(crate) struct TokenList {
    #[command(flatten)]
    admin: Admin,
}

/// Which token.
#[derive(Args, Debug)]
pub(crate) struct TokenRevoke {
    /// The id of the token.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    admin: Admin,
}
