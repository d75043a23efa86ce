//! Usage: what was used, from the ledger; as files for others; and whether everybody agrees on it.

mod asked;
pub(crate) mod export;
pub(crate) mod reconcile;
mod sheet;
pub(crate) mod show;

use sluicegate_engine::books::{AskError, CompareError, Which};
use sluicegate_node::log_gate::LogGate;
use sluicegate_store::directory::What;

use super::problem::{Error, Problem};

impl From<AskError> for Problem {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Unknown(Which::Account) => Self::not_found(What::Account),
            AskError::Unknown(Which::Key) => Self::not_found(What::Key),
            AskError::Unknown(Which::Route) => {
                Self::new(Error::NotFound, "No route was ever called this.").field("route")
            }
            AskError::Directory(error) => error.into(),
            AskError::Book(error) => failed(&error),
            AskError::Ending => failed(&AskError::Ending),
        }
    }
}

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Away(away) => away.into(),
            CompareError::Directory(error) => error.into(),
            CompareError::NoExport => Self::new(
                Error::InvalidQuery,
                "Nothing is sealed: the policy has no \"ledger.export\" to compare with.",
            )
            .field("against"),
            other => failed(&other),
        }
    }
}

/// What cannot be told now, and why.
fn failed(error: &dyn std::fmt::Display) -> Problem {
    static GATE: LogGate = LogGate::new();
    GATE.log(|left_out| tracing::error!(%error, left_out, "usage cannot be told"));
    Problem::new(Error::Unavailable, format!("Usage cannot be told now: {error}."))
}

/// A sum as JSON has numbers. What is beyond them has no bill.
fn number(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}

/// The beginning of a part of time as text.
fn text(start: impl ToString + Copy) -> String {
    start.to_string()
}
