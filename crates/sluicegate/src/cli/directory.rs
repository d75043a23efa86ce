//! `sluicegate directory`: its verbs, arguments and help.

use clap::{Args, Subcommand};

use super::admin::{Admin, Sure};

/// What can be done with the store of accounts and keys as a whole.
#[derive(Subcommand, Debug)]
pub(crate) enum Directory {
    /// Take over a store that has lost its accounts and keys, or another one than before.
    #[command(after_help = "\
Examples:
  sluicegate directory adopt
  sluicegate directory adopt --data-dir /var/lib/sluicegate --yes

A data directory belongs to the store that it was first used with: its ledger counts the usage of
that store's accounts. With another store the server does not start. On a store that was emptied it
starts, serves the callers that it knows, and changes nothing. If the accounts can be restored from
a backup of the store, do that instead.

If a server has the data directory open, it adopts its store at once. Otherwise the next start takes
over the store that it finds. Where nodes share a store that was emptied, one of them is enough.

Exit status: 0 adopted, 1 failed, 2 wrong usage.")]
    Adopt(DirectoryAdopt),
}

/// What is taken over.
#[derive(Args, Debug)]
pub(crate) struct DirectoryAdopt {
    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    pub(crate) admin: Admin,
}
