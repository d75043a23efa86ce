//! What is decided while the store cannot be reached.

use super::percent::Percent;

/// What is decided while the store cannot be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Degraded {
    /// The share of each limit that the local fallback admits.
    pub cap: Percent,
    /// Rate limits.
    pub rate: DegradedRate,
    /// Quotas.
    pub quota: DegradedQuota,
}

/// What becomes of rate limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DegradedRate {
    /// Counted on this node alone, up to the cap.
    Local,
    /// Not asked.
    Open,
    /// Every request with one is refused.
    Closed,
}

/// What becomes of quotas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DegradedQuota {
    /// Counted on this node alone, up to the cap.
    Local,
    /// Every request with one is refused.
    Closed,
    /// Admitted, journalled to local disk, settled when the store returns.
    Reconcile,
    /// Not asked.
    Open,
}

impl Degraded {
    /// Two nodes that count on their own stay below the whole limit; a third may exceed it by a fifth.
    pub const CAP_DEFAULT: Percent = match Percent::new(40) {
        Some(cap) => cap,
        None => Percent::FULL,
    };
}

impl Default for Degraded {
    /// Rates are kept up locally, because a refusal would be our fault. Quotas are money, so they fail closed.
    fn default() -> Self {
        Self { cap: Self::CAP_DEFAULT, rate: DegradedRate::Local, quota: DegradedQuota::Closed }
    }
}
