//! Tiers: named plans, each a set of limits.

use std::fmt;
use std::sync::Arc;

use super::route::RouteIndex;
use crate::limit::{Limit, LimitName};

/// The name of a tier: 1 to 64 characters of `a-z 0-9 . _ -`, or `custom:` followed by such a name, for one account.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TierName(Arc<str>);

impl TierName {
    /// What the names of negotiated tiers start with.
    pub const CUSTOM_PREFIX: &'static str = "custom:";
    const LENGTH_MAX: usize = 64;

    /// The name, or nothing if it has a character that names may not have.
    pub fn new(name: &str) -> Option<Self> {
        let plain = name.strip_prefix(Self::CUSTOM_PREFIX).unwrap_or(name);
        let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
        (!plain.is_empty() && plain.len() <= Self::LENGTH_MAX && plain.bytes().all(inner))
            .then(|| Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the negotiated tier of one account.
    pub fn is_custom(&self) -> bool {
        self.0.starts_with(Self::CUSTOM_PREFIX)
    }
}

/// Whatever a limit may be called, a tier may be.
impl From<&LimitName> for TierName {
    fn from(name: &LimitName) -> Self {
        Self(name.as_str().into())
    }
}

impl std::borrow::Borrow<str> for TierName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TierName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether the limits of a tier are asked at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bypass {
    /// They are.
    No,
    /// They are not: for callers that present a service token.
    Yes,
}

/// When a finished request gets its quota back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefundOn {
    /// Never.
    Nothing,
    /// When the upstream answered with a 5xx.
    ServerError,
}

/// A limit of a tier, and the routes it counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TierLimit {
    /// The limit.
    pub limit: Limit,
    /// The routes it counts, in order; empty: every request.
    pub routes: Vec<RouteIndex>,
}

/// A named plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tier {
    /// What it is called.
    pub name: TierName,
    /// Its limits, in the order in which they are asked: rate, concurrency, quota.
    pub limits: Vec<TierLimit>,
    /// Under pressure the lowest is shed first.
    pub priority: u32,
    /// Whether its limits are asked at all.
    pub bypass: Bypass,
    /// When a finished request gets its quota back.
    pub refund_on: RefundOn,
}

impl Tier {
    /// The most limits a tier may have, shorthands included: a request settles all of them at once.
    pub const LIMITS_MAX: usize = 16;
}
