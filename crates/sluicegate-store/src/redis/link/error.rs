//! What can go wrong with a connection, and with a query over it.

use std::fmt;

#[cfg(feature = "redis")]
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Why there is no connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkError {
    /// The settings cannot work: a certificate that is none, an address that is none.
    Settings(String),
    /// The server does not answer, or does not let us in.
    Unreachable(String),
    /// This build has no Redis client.
    NotBuilt,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(why) => write!(f, "the store cannot be connected to with these settings: {why}"),
            Self::Unreachable(why) => write!(f, "the store cannot be reached: {why}"),
            Self::NotBuilt => {
                f.write_str("this program was built without a Redis client: enable the feature `redis`")
            }
        }
    }
}

impl std::error::Error for LinkError {}

/// An error that a server answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerAnswer {
    /// The first word: `ERR`, `NOPERM`, `WRONGTYPE` …
    pub code: String,
    /// The rest.
    pub text: String,
}

impl ServerAnswer {
    /// The script is not known: it did not run.
    pub(in crate::redis) fn is_no_script(&self) -> bool {
        self.code == "NOSCRIPT"
    }

    /// The server is a replica now: whoever writes must look for the primary again.
    #[cfg(feature = "redis")]
    pub(super) fn is_of_a_replica(&self) -> bool {
        // Of a script, the code of the error inside stands in the text.
        self.code == "READONLY" || self.text.contains("READONLY")
    }
}

impl fmt::Display for ServerAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}

/// Why a query has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueryError {
    /// It was not sent, so it has not happened and will not.
    NotSent,
    /// It was sent and the answer is missing: it may have happened, and may still.
    Unknown(String),
    /// The server answered with an error.
    Refused(ServerAnswer),
    /// The server answered with something else than was asked for.
    Garbled(String),
}

#[cfg(feature = "redis")]
impl QueryError {
    pub(super) fn of(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::Server(kind) => {
                let text = error.detail().unwrap_or_default().to_owned();
                Self::Refused(ServerAnswer { code: code_of(error, kind), text })
            }
            ErrorKind::Extension => {
                let code = error.code().unwrap_or("ERR").to_owned();
                Self::Refused(ServerAnswer { code, text: error.detail().unwrap_or_default().to_owned() })
            }
            ErrorKind::UnexpectedReturnType => Self::Garbled(error.to_string()),
            _ => Self::Unknown(error.to_string()),
        }
    }
}

#[cfg(feature = "redis")]
fn code_of(error: &RedisError, kind: ServerErrorKind) -> String {
    match error.code() {
        Some(code) => code.to_owned(),
        None => format!("{kind:?}"),
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent => f.write_str("the store is not connected"),
            Self::Unknown(why) => write!(f, "the store did not answer: {why}"),
            Self::Refused(answer) => write!(f, "the store answered: {answer}"),
            Self::Garbled(why) => write!(f, "the store gave an answer that makes no sense: {why}"),
        }
    }
}

impl std::error::Error for QueryError {}
