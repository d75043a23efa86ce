//! API keys as an application handles them.

use std::fmt;
use std::time::SystemTime;

use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::KeyRecord;
use sluicegate_store::key_text::{KeyEnv as StoredEnv, SecretText};

/// A key, without its secret.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Key {
    /// Its id: the part of the key that is no secret.
    pub id: String,
    /// The account it belongs to.
    pub account: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub env: KeyEnv,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// From when on it is refused; none: never.
    pub expires_at: Option<SystemTime>,
    /// When it was revoked; none: it is not.
    pub revoked_at: Option<SystemTime>,
}

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum KeyEnv {
    /// Customers' traffic: `sg_live_…`.
    #[default]
    Live,
    /// Trying things out: `sg_test_…`. Its quotas are apart from those of live keys, refuse where they end, and are
    /// never billed.
    Test,
}

/// The text of a key. It is shown once, here, and cannot be had again: only a keyed hash of it is stored. It prints as
/// stars.
pub struct ApiKey(SecretText);

impl ApiKey {
    pub(super) fn new(text: SecretText) -> Self {
        Self(text)
    }

    /// The key itself, to hand to its owner.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

/// A key that exists after `ensure_key`.
#[derive(Debug)]
#[non_exhaustive]
pub enum EnsuredKey {
    /// It was there before. Its text cannot be had any more.
    Existing(Key),
    /// It was created now.
    Created(Key, ApiKey),
}

impl EnsuredKey {
    /// The key.
    pub fn key(&self) -> &Key {
        match self {
            Self::Existing(key) | Self::Created(key, _) => key,
        }
    }

    /// Its text, if it was created now.
    pub fn created(&self) -> Option<&ApiKey> {
        match self {
            Self::Existing(_) => None,
            Self::Created(_, text) => Some(text),
        }
    }
}

/// A key to be created.
#[derive(Clone, Debug)]
#[must_use]
pub struct NewKey {
    pub(super) name: String,
    pub(super) env: KeyEnv,
    pub(super) scopes: Vec<String>,
    pub(super) expires_at: Option<SystemTime>,
}

impl NewKey {
    /// A key for customers' traffic, for all routes, without an end.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), env: KeyEnv::Live, scopes: vec!["*".to_owned()], expires_at: None }
    }

    /// For trying things out.
    pub fn test(mut self) -> Self {
        self.env = KeyEnv::Test;
        self
    }

    /// Only for routes of the policy with one of these scopes.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Refused from then on.
    pub fn expires_at(mut self, at: SystemTime) -> Self {
        self.expires_at = Some(at);
        self
    }
}

impl From<&str> for NewKey {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl From<KeyRecord> for Key {
    fn from(record: KeyRecord) -> Self {
        Self {
            id: record.id.as_str().to_owned(),
            account: record.account.as_str().to_owned(),
            name: record.name.as_str().to_owned(),
            env: match record.env {
                StoredEnv::Live => KeyEnv::Live,
                StoredEnv::Test => KeyEnv::Test,
            },
            scopes: record.scopes.iter().map(ToOwned::to_owned).collect(),
            expires_at: record.expires_at.map(system_time),
            revoked_at: record.revoked_at.map(system_time),
        }
    }
}

impl KeyEnv {
    pub(super) fn stored(self) -> StoredEnv {
        match self {
            Self::Live => StoredEnv::Live,
            Self::Test => StoredEnv::Test,
        }
    }
}

pub(super) fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(at.as_nanos())
}

/// An instant before 1970 counts as 1970, one beyond what is kept as the last that is.
pub(super) fn timestamp(at: SystemTime) -> Timestamp {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_nanos(nanos.min(Timestamp::MAX.as_nanos()))
}
