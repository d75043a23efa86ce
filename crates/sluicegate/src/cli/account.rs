//! `sluicegate account`: its verbs, arguments and help.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::admin::{Admin, ListPart, Sure};

/// What can be done with accounts.
#[derive(Subcommand, Debug)]
pub(crate) enum Account {
    /// Make an account.
    #[command(after_help = "\
Examples:
  sluicegate account create \"Acme Ltd.\" --tier pro
  sluicegate account create \"Acme Ltd.\" --tier pro --id acme --billing-day 15 --timezone Europe/Berlin
  id=$(sluicegate account create \"Acme Ltd.\" --tier pro --json | jq -r .id)

Exit status: 0 made, 1 failed, 2 wrong usage.")]
    Create(AccountCreate),

    /// List accounts, in the order in which they were made.
    #[command(after_help = "\
Examples:
  sluicegate account list
  sluicegate account list --json | jq -r '.items[].id'

Exit status: 0 listed, 1 failed, 2 wrong usage.")]
    List(AccountList),

    /// Show an account, what its limits say now, and its keys.
    #[command(after_help = "\
Examples:
  sluicegate account show acme
  sluicegate account show acme --json | jq '.limits[] | {name, remaining}'

With --json the account has two more members: `limits` and `keys`.

Exit status: 0 shown, 1 failed, 2 wrong usage.")]
    Show(AccountShow),

    /// Give an account another tier, from its next request on. What it has used stays counted.
    #[command(after_help = "\
Examples:
  sluicegate account set-tier acme enterprise --preview
  sluicegate account set-tier acme enterprise

It prints what the account has left under the tier, with all that it has used so far.

Exit status: 0 done, 1 failed, 2 wrong usage.")]
    SetTier(AccountSetTier),

    /// Delete an account and revoke its keys. What it used stays in the ledger.
    #[command(after_help = "\
Examples:
  sluicegate account delete acme
  sluicegate account delete acme --yes

Exit status: 0 deleted, 1 failed or not confirmed, 2 wrong usage.")]
    Delete(AccountDelete),
}

impl Account {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Create(args) => &args.admin,
            Self::List(args) => &args.admin,
            Self::Show(args) => &args.admin,
            Self::SetTier(args) => &args.admin,
            Self::Delete(args) => &args.admin,
        }
    }
}

/// An account to be made.
#[derive(Args, Debug)]
pub(crate) struct AccountCreate {
    /// What people call it.
    pub(crate) name: String,

    /// Its tier: one of those in the policy.
    #[arg(long)]
    pub(crate) tier: String,

    /// Its id: letters, digits, `.`, `_` and `-` [default: a random one].
    #[arg(long)]
    pub(crate) id: Option<String>,

    /// The day on which its billing months begin, from 1 to 31 [default: 1].
    #[arg(long, value_name = "DAY", value_parser = clap::value_parser!(u8).range(1..=31))]
    pub(crate) billing_day: Option<u8>,

    /// The IANA zone in which its days and months begin, such as Europe/Berlin [default: UTC].
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// Which accounts.
#[derive(Args, Debug)]
pub(crate) struct AccountList {
    #[command(flatten)]
    pub(crate) part: ListPart,

    #[command(flatten)]
    admin: Admin,
}

/// Which account.
#[derive(Args, Debug)]
pub(crate) struct AccountShow {
    /// The account.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    admin: Admin,
}

/// Which account, and which tier.
#[derive(Args, Debug)]
pub(crate) struct AccountSetTier {
    /// The account.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    /// Its tier from now on: one of those in the policy.
    pub(crate) tier: String,

    /// Change nothing: only say what the account would have left.
    #[arg(long)]
    pub(crate) preview: bool,

    #[command(flatten)]
    admin: Admin,
}

/// Which account.
#[derive(Args, Debug)]
pub(crate) struct AccountDelete {
    /// The account.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    admin: Admin,
}
