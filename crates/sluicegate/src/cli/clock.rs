//! `sluicegate clock`: its verbs, arguments and help.

use clap::{Args, Subcommand};

use super::admin::{Admin, Sure};

/// What can be done with the clock of a server.
#[derive(Subcommand, Debug)]
pub(crate) enum Clock {
    /// Confirm a clock that leapt ahead: the server follows it at once.
    #[command(after_help = "\
Example:
  sluicegate clock confirm --yes

A clock that leaps more than an hour ahead is followed when it has lasted for ten minutes. Until then decisions go on
by the time before. Quotas then go on in the period of the new time, hours before it are closed, and records that are
too old by it are deleted: check the clock first.

Exit status: 0 confirmed, 1 failed, or no clock is held, 2 wrong usage.")]
    Confirm(ClockConfirm),
}

impl Clock {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Confirm(args) => &args.admin,
        }
    }
}

/// Which server.
#[derive(Args, Debug)]
pub(crate) struct ClockConfirm {
    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    admin: Admin,
}
