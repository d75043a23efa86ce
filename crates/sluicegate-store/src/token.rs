//! Named tokens of people and programs: their roles, their text, and what is kept of them.
//!
//! A token's text is `sgt_<id>_<secret><crc>`, all base62. It is shown once; only a keyed hash of it is kept.

mod role;
mod set;
mod text;

use std::fmt;
use std::sync::Arc;

use sluicegate_core::time::Timestamp;

pub use role::{May, Permissions, Role};
pub use set::TokenSet;
pub(crate) use text::make;
pub use text::{PresentedToken, TOKEN_LENGTH};

use crate::directory::FieldError;
use crate::key_text::{KeyHash, KeyId};

/// The id of a token: 12 characters of base62. It is no secret.
pub type TokenId = KeyId;

/// The most tokens of a store.
pub const TOKENS_MAX: usize = 1_000;

/// The name of a token, unique in its store. Audit entries name their actor by it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TokenName(Arc<str>);

/// Names that audit entries use for actors without a named token.
const RESERVED: [&str; 6] = ["admin", "anybody", "anonymous", "default", "owner", "sluicegate"];

impl TokenName {
    /// The most characters of a name.
    pub const LENGTH_MAX: usize = 64;

    /// The name, without blanks around it.
    pub fn new(name: &str) -> Result<Self, FieldError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(FieldError::new("name", "is empty"));
        }
        if name.len() > Self::LENGTH_MAX {
            return Err(FieldError::new("name", format!("has more than {} characters", Self::LENGTH_MAX)));
        }
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte)) {
            return Err(FieldError::new(
                "name",
                "has characters other than letters, digits, `-`, `_`, `.` and `@`",
            ));
        }
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(FieldError::new("name", "is reserved; choose another"));
        }
        Ok(Self(name.into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A token to be created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewToken {
    /// Its name.
    pub name: TokenName,
    /// Its role.
    pub role: Role,
    /// What it may do beyond its role.
    pub may: Permissions,
    /// From when on it is invalid.
    pub expires_at: Option<Timestamp>,
}

impl NewToken {
    /// Refuses what no token can be.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), FieldError> {
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(FieldError::new("expires_at", "is not in the future"));
        }
        if self.role != Role::Decide && !self.may.is_empty() {
            return Err(FieldError::new("may", "is only for tokens with the role decide"));
        }
        Ok(())
    }

    pub(crate) fn record(self, id: TokenId, now: Timestamp) -> TokenRecord {
        let Self { name, role, may, expires_at } = self;
        TokenRecord { id, name, role, may, expires_at, created_at: now }
    }
}

/// A token, without its hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenRecord {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    pub name: TokenName,
    /// Its role.
    pub role: Role,
    /// What it may do beyond its role.
    pub may: Permissions,
    /// From when on it is invalid.
    pub expires_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl TokenRecord {
    /// Whether it can be used at this time.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }
}

/// A token with the hash of its text.
#[derive(Clone, Debug)]
pub(crate) struct StoredToken {
    pub(crate) record: TokenRecord,
    pub(crate) hash: KeyHash,
}
