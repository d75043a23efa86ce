//! The settings of the abuse signals: the edge, reputation, blocks, pressure.

use super::percent::Percent;
use crate::rule::TokenBucket;
use crate::time::{Nanos, Window};

const TEN_MINUTES: Window = match Window::from_secs(600) {
    Some(window) => window,
    None => Window::MINUTE,
};

/// A coarse limit for each address, before any identity work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// What one address (IPv6: one /64) may send.
    pub bucket: TokenBucket,
}

/// Whom an abuse signal concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppliesTo {
    /// Callers without a key. A `Retry-After` given to a customer is a promise, so keys are left alone by default.
    Clients,
    /// Callers with a key as well.
    All,
}

/// Callers that are refused often have smaller limits for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reputation {
    /// Whose reputation is kept.
    pub applies_to: AppliesTo,
    /// What a violation takes from the [`Reputation::POINTS_MAX`] a caller starts with.
    pub penalty: u8,
    /// How many points come back per [`Reputation::recover_per`].
    pub recover: u8,
    /// How long it takes until they do.
    pub recover_per: Window,
}

impl Reputation {
    /// What a caller starts with, and never exceeds.
    pub const POINTS_MAX: u8 = 100;
    /// Six violations in a row are forgiven before limits shrink (below 75 points).
    pub const PENALTY_DEFAULT: u8 = 5;
    /// Recovery is slow: one violation is forgotten after fifty minutes.
    pub const RECOVER_DEFAULT: u8 = 1;
    /// See [`Reputation::RECOVER_DEFAULT`].
    pub const RECOVER_PER_DEFAULT: Window = TEN_MINUTES;
}

/// Callers that are refused again and again are answered from a local table for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Who can be blocked.
    pub applies_to: AppliesTo,
    /// How many refusals it takes.
    pub after: u32,
    /// Within how long.
    pub within: Window,
    /// How long the first block lasts; each further one lasts twice as long.
    pub first: Nanos,
    /// How long a block lasts at most.
    pub max: Nanos,
}

impl Blocks {
    /// A well-behaved client that ignores one `Retry-After` does not get this far; a loop without a pause does, at
    /// once.
    pub const AFTER_DEFAULT: u32 = 10;
    /// The most refusals that may be asked for: each caller's are remembered one by one.
    pub const AFTER_MAX: u32 = 10_000;
    /// See [`Blocks::AFTER_DEFAULT`].
    pub const WITHIN_DEFAULT: Window = Window::MINUTE;
    /// Long enough to save work, short enough that a mistake heals by itself.
    pub const FIRST_DEFAULT: Nanos = Nanos::from_secs(60);
    /// An address may have a new owner after this long.
    pub const MAX_DEFAULT: Nanos = Nanos::from_secs(3_600);
}

/// Too many different fingerprints behind one address make the limits of the clients behind it smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// How many are too many.
    pub fingerprints: u32,
    /// Within how long.
    pub window: Window,
    /// What remains of the limits.
    pub squeeze_to: Percent,
    /// For how long.
    pub length: Nanos,
}

impl Pressure {
    /// More browsers than a household has; an office behind one address should set it higher.
    pub const FINGERPRINTS_DEFAULT: u32 = 20;
    /// The most fingerprints that may be asked for: they are counted per address in bounded memory.
    pub const FINGERPRINTS_MAX: u32 = 10_000;
    /// See [`Pressure::FINGERPRINTS_DEFAULT`].
    pub const WINDOW_DEFAULT: Window = TEN_MINUTES;
    /// Squeezed, never blocked: a household shares its address with whoever attacks from it.
    pub const SQUEEZE_TO_DEFAULT: Percent = match Percent::new(50) {
        Some(half) => half,
        None => Percent::FULL,
    };
    /// Long enough that rotating fingerprints does not pay.
    pub const LENGTH_DEFAULT: Nanos = Nanos::from_secs(3_600);
}
