//! Refusing a Redis that would lose what is counted in it, at the start and in words that say what to do.

use std::fmt;

use super::link::{Link, QueryError};

/// Why a Redis is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// It could not be asked.
    Query(QueryError),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unfit {}

/// Looks whether a Redis can be trusted with meters: the version, what it does when its memory is full, that it takes
/// writes, and that we may run the script.
pub async fn check(link: &Link) -> Result<(), Unfit> {
    link.query::<()>(&redis::cmd("PING")).await.map_err(Unfit::Query)
}
