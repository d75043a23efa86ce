//! Keys, as the way of a request sees them.

use std::num::NonZeroU32;
use std::sync::Arc;

use tollgate_core::time::Timestamp;

use super::account::Account;
use super::scopes::Scopes;
use crate::key_text::{KeyHash, KeyId};

/// A credential of an account that is not revoked.
#[derive(Debug)]
pub struct Key {
    /// The number under which the ledger knows it. Never given again.
    pub serial: u64,
    /// Its number among the keys of its account, never given again. A key keeps it, and its meters, when its secret
    /// is changed.
    pub number: NonZeroU32,
    /// What it is called.
    pub id: KeyId,
    /// Whose it is.
    pub account: Arc<Account>,
    /// What it may be used for.
    pub scopes: Scopes,
    /// From when on it is invalid.
    pub expires_at: Option<Timestamp>,
    pub(super) hash: KeyHash,
    /// Boxed: few keys have one at any time.
    pub(super) previous: Option<Box<Previous>>,
}

/// The secret that a key had before.
#[derive(Clone, Debug)]
pub(super) struct Previous {
    pub(super) hash: KeyHash,
    /// From when on it is invalid.
    pub(super) until: Timestamp,
}

/// Whether what was presented is a key that may be used now.
#[derive(Clone, Debug)]
pub enum Verified {
    /// It is.
    Key(Arc<Key>),
    /// It is not. Why is nobody's business: unknown, wrong secret, revoked, expired, rotated out.
    Invalid,
}
