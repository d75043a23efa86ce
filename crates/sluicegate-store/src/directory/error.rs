//! Why a write was not done, or a list not read.

use std::fmt;

use super::account::AccountId;
use super::field::FieldError;
use crate::database::{DatabaseError, Refusal};
use crate::identity::{StoreMismatch, StoreState};
use crate::key_text::NoRandomness;
use crate::redis::directory::RedisError;
use crate::token::{TOKENS_MAX, TokenName};

/// What was not found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// An account.
    Account,
    /// A key.
    Key,
    /// A token.
    Token,
}

/// Why the store did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// The database of this process did not.
    Database(DatabaseError),
    /// The Redis that nodes share did not.
    Redis(RedisError),
    /// It is not the store that this node knows, and was not adopted.
    NotAdopted(StoreState),
    /// The data directory belongs to another store.
    Mismatch(StoreMismatch),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => error.fmt(f),
            Self::Redis(error) => error.fmt(f),
            Self::NotAdopted(state) => state.fmt(f),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl std::error::Error for StoreError {}

impl Refusal for StoreError {
    fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Database(error) => Some(error),
            Self::Redis(_) | Self::NotAdopted(_) | Self::Mismatch(_) => None,
        }
    }
}

impl From<RedisError> for StoreError {
    fn from(error: RedisError) -> Self {
        match error {
            // The same, whichever store it is.
            RedisError::NotAdopted(state) => Self::NotAdopted(state),
            RedisError::Mismatch(mismatch) => Self::Mismatch(mismatch),
            error => Self::Redis(error),
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

/// Why a write was not done. Nothing of it is then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// There is no such thing.
    NotFound(What),
    /// There is an account of this id.
    Exists(AccountId),
    /// A value does not go with this write.
    Field(FieldError),
    /// The key is revoked, for good.
    Revoked,
    /// The key has expired, for good.
    Expired,
    /// The account has made as many keys as there are numbers.
    TooManyKeys,
    /// There is a token of this name.
    TokenExists(TokenName),
    /// There are as many tokens as there may be.
    TooManyTokens,
    /// No secret could be made.
    NoRandomness,
    /// The store did not take it.
    Unavailable(StoreError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(What::Account) => f.write_str("there is no such account"),
            Self::NotFound(What::Key) => f.write_str("there is no such key"),
            Self::NotFound(What::Token) => f.write_str("there is no such token"),
            Self::Exists(id) => write!(f, "there is an account {id} already"),
            Self::Field(error) => error.fmt(f),
            Self::Revoked => f.write_str("the key is revoked; create another"),
            Self::Expired => f.write_str("the key has expired; create another"),
            Self::TooManyKeys => f.write_str("the account has made too many keys; create another account"),
            Self::TokenExists(name) => write!(f, "there is a token {name} already; revoke it first"),
            Self::TooManyTokens => write!(f, "there are {TOKENS_MAX} tokens already; revoke one first"),
            Self::NoRandomness => NoRandomness.fmt(f),
            Self::Unavailable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WriteError {}

impl Refusal for WriteError {
    fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Unavailable(StoreError::Database(error)) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<RedisError> for WriteError {
    fn from(error: RedisError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl From<DatabaseError> for WriteError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

impl From<NoRandomness> for WriteError {
    fn from(_: NoRandomness) -> Self {
        Self::NoRandomness
    }
}

impl From<FieldError> for WriteError {
    fn from(error: FieldError) -> Self {
        Self::Field(error)
    }
}

/// Why a list was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// There is no such thing.
    NotFound(What),
    /// The store did not give it.
    Unavailable(StoreError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(what) => WriteError::NotFound(*what).fmt(f),
            Self::Unavailable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl Refusal for ReadError {
    fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Unavailable(StoreError::Database(error)) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<RedisError> for ReadError {
    fn from(error: RedisError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl From<DatabaseError> for ReadError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        DatabaseError::from(error).into()
    }
}
