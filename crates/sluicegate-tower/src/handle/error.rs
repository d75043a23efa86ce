//! What can go wrong with a handle. `Debug` shows what `Display` shows, so that a `main` that returns one of these
//! prints it for people: a mistake in a policy with its line and caret.

use std::error::Error;
use std::fmt;
use std::io;

use sluicegate_node::{DataDirError, NodeError, PolicyRejected, SecretsError};
use sluicegate_store::directory::{FieldError, ReadError, StoreError, WriteError};

/// Why a Sluicegate was not opened.
#[non_exhaustive]
pub enum OpenError {
    /// The policy file cannot be read.
    Read(String, io::Error),
    /// The policy has mistakes, or needs a feature that is not enabled.
    Policy(PolicyError),
    /// The data directory cannot be used: another process has it, or this process opened it before.
    DataDir(DataDirError),
    /// A secret in the data directory cannot be used.
    Secrets(SecretsError),
    /// The admin token cannot be used.
    #[cfg(feature = "admin")]
    AdminToken(sluicegate_admin::BadToken),
    /// The store or the ledger cannot be opened.
    Node(NodeError),
}

/// Every mistake of a policy, with its line, a caret, and what to write instead.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyError(pub(super) PolicyRejected);

/// Why the policy file is not watched.
#[non_exhaustive]
pub enum WatchError {
    /// The policy was given as text: there is no file.
    NoFile,
    /// The system does not watch it.
    System(sluicegate_node::watch::WatchError),
}

/// Why something was not done to an account or a key.
#[non_exhaustive]
pub enum AccountError {
    /// There is no such account.
    NoAccount(String),
    /// There is no such key.
    NoKey(String),
    /// The policy has no such tier.
    NoTier {
        /// The name that was given.
        tier: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A value has a form that it may not have.
    Invalid(FieldError),
    /// The key is revoked or expired, for good.
    KeyEnded(String),
    /// It was refused for another reason.
    Refused(WriteError),
    /// The store cannot be read.
    Unavailable(StoreError),
}

impl AccountError {
    /// What a write of this account, or of a key of this id, failed with.
    pub(super) fn of_write(error: WriteError, id: &str) -> Self {
        match error {
            WriteError::NotFound(sluicegate_store::directory::What::Account) => {
                Self::NoAccount(id.to_owned())
            }
            WriteError::NotFound(sluicegate_store::directory::What::Key) => Self::NoKey(id.to_owned()),
            WriteError::Field(error) => Self::Invalid(error),
            WriteError::Revoked | WriteError::Expired => Self::KeyEnded(id.to_owned()),
            WriteError::Unavailable(error) => Self::Unavailable(error),
            other => Self::Refused(other),
        }
    }

    pub(super) fn of_read(error: ReadError, id: &str) -> Self {
        match error {
            ReadError::NotFound(_) => Self::NoAccount(id.to_owned()),
            ReadError::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(name, error) => write!(f, "cannot read the policy {name}: {error}"),
            Self::Policy(error) => error.fmt(f),
            Self::DataDir(error) => error.fmt(f),
            Self::Secrets(error) => error.fmt(f),
            #[cfg(feature = "admin")]
            Self::AdminToken(error) => write!(f, "the admin token cannot be used: {error}"),
            Self::Node(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("the policy was given as text, so there is no file to watch"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccount(id) => write!(f, "there is no account `{id}`"),
            Self::NoKey(id) => write!(f, "there is no key `{id}`"),
            Self::NoTier { tier, known } => {
                write!(f, "the policy has no tier `{tier}`; it has {}", known.join(", "))
            }
            Self::Invalid(error) => error.fmt(f),
            Self::KeyEnded(id) => write!(f, "the key `{id}` is revoked or expired; create another"),
            Self::Refused(error) => error.fmt(f),
            Self::Unavailable(error) => error.fmt(f),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(_, error) => Some(error),
            Self::Policy(_) => None,
            Self::DataDir(error) => error.source(),
            Self::Secrets(error) => error.source(),
            #[cfg(feature = "admin")]
            Self::AdminToken(error) => Some(error),
            Self::Node(error) => error.source(),
        }
    }
}

impl Error for PolicyError {}

impl Error for WatchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoFile => None,
            Self::System(error) => error.source(),
        }
    }
}

impl Error for AccountError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused(error) => error.source(),
            Self::Unavailable(error) => error.source(),
            _ => None,
        }
    }
}

macro_rules! debug_as_display {
    ($($error:ty),*) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    )*};
}

debug_as_display!(OpenError, PolicyError, WatchError, AccountError);
