//! How the process ends.

use std::process::ExitCode;

/// The exit status of a command. Wrong usage is mostly clap's to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: failed, for a reason that was printed.
    Failed,
    /// 2: wrong usage that only the command itself could see.
    WrongUsage,
    /// 78, `EX_CONFIG` of sysexits.h: the configuration is invalid.
    ConfigInvalid,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::FAILURE,
            Exit::WrongUsage => Self::from(2),
            Exit::ConfigInvalid => Self::from(78),
        }
    }
}
