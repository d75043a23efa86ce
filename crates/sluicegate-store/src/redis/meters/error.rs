//! Why a call has no answer, and what is known of it then.

use std::fmt;

use crate::redis::link::{QueryError, ServerAnswer};
use crate::redis::wire::number::Malformed;

/// Why a call has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// It was not sent, and so not done.
    NotSent,
    /// It may have been done, and may still be: nothing more may be asked of this home until
    /// [`resolve`](super::Meters::resolve) says.
    Unknown,
    /// The number is not above one that this node used for the home before, the last of which is given. Nothing was
    /// done.
    Late(u64),
    /// The plans do not agree about the rule of a limit: ask them in two calls. Nothing was done.
    Mixed,
    /// There are too many plans in one call, or too many limits in its plans. Nothing was done.
    TooLarge,
    /// The server answered with an error. Nothing was done.
    Refused(ServerAnswer),
    /// Others kept rewriting the home under other limits. Nothing was done.
    Contended,
    /// The server answered with something that makes no sense. As with `Unknown`, it may have been done.
    Garbled(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent => f.write_str("the store is not connected"),
            Self::Unknown => f.write_str("the store did not answer in time"),
            Self::Late(last) => write!(f, "the number of the call is not above {last}"),
            Self::Mixed => f.write_str("the plans of the call do not agree about a limit"),
            Self::TooLarge => f.write_str("the call has too many plans, or too many limits"),
            Self::Contended => f.write_str("other nodes kept rewriting the meters under other limits"),
            Self::Refused(answer) => write!(f, "the store answered: {answer}"),
            Self::Garbled(why) => write!(f, "the store gave an answer that makes no sense: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<QueryError> for CallError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::NotSent => Self::NotSent,
            QueryError::Unknown(_) => Self::Unknown,
            QueryError::Refused(answer) => Self::Refused(answer),
            QueryError::Garbled(why) => Self::Garbled(why),
        }
    }
}

impl From<Malformed> for CallError {
    fn from(Malformed(why): Malformed) -> Self {
        Self::Garbled(why.to_owned())
    }
}
