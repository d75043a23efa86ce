//! A block: who, since when, until when, and why.

use std::fmt;
use std::sync::Arc;

use crate::plan::{HomeId, Sharer};
use crate::time::Timestamp;

/// Who can be blocked: a client, or one key of an account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Caller {
    /// Where its meters are.
    pub home: HomeId,
    /// Which key of the home; everybody: a client, which has its home alone.
    pub sharer: Sharer,
}

impl Caller {
    /// A client.
    pub const fn client(home: HomeId) -> Self {
        Self { home, sharer: Sharer::ALL }
    }

    /// A key of an account.
    pub const fn key(home: HomeId, key: Sharer) -> Self {
        Self { home, sharer: key }
    }
}

impl From<HomeId> for Caller {
    fn from(home: HomeId) -> Self {
        Self::client(home)
    }
}

/// Who has blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A caller was refused too often.
    Automatic,
    /// An administrator.
    Manual,
}

/// A block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Who is blocked.
    pub caller: Caller,
    /// When it began.
    pub since: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// Who has blocked.
    pub origin: Origin,
    /// What the administrator had to say.
    pub reason: Option<Reason>,
}

/// A short text of an administrator, in one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason(Arc<str>);

/// Why a text is no reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadReason {
    /// There is nothing in it.
    Empty,
    /// It is longer than [`Reason::BYTES_MAX`].
    TooLong,
    /// It holds a control character.
    Control,
}

impl fmt::Display for BadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong => write!(f, "it is longer than {} bytes", Reason::BYTES_MAX),
            Self::Control => f.write_str("it holds a control character"),
        }
    }
}

impl std::error::Error for BadReason {}

impl Reason {
    /// Blocks are kept in memory and sent to all nodes.
    pub const BYTES_MAX: usize = 200;

    /// The reason, unless the text is empty, too long or not one line.
    pub fn new(text: &str) -> Result<Self, BadReason> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadReason::Empty);
        }
        if text.len() > Self::BYTES_MAX {
            return Err(BadReason::TooLong);
        }
        if text.contains(char::is_control) {
            return Err(BadReason::Control);
        }
        Ok(Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{BadReason, Reason};

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(Reason::new(" scrapes the catalogue ").unwrap().as_str(), "scrapes the catalogue");
        assert_eq!(Reason::new(" \t"), Err(BadReason::Empty));
        assert_eq!(Reason::new(&"a".repeat(201)), Err(BadReason::TooLong));
        assert_eq!(Reason::new("a\nb"), Err(BadReason::Control));
        assert!(Reason::new(&"a".repeat(200)).is_ok());
    }
}
