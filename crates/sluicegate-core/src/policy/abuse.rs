//! The settings of the abuse signals: the edge, reputation, blocks, pressure.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use super::percent::Percent;
use crate::rule::token_bucket::BadBucket;
use crate::rule::{Amount, TokenBucket, Windowed};
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
    /// Five violations in a row are forgiven; with the sixth, limits shrink (below 75 points).
    pub const PENALTY_DEFAULT: u8 = 5;
    /// Recovery is slow: one violation is forgotten after fifty minutes.
    pub const RECOVER_DEFAULT: u8 = 1;
    /// See [`Reputation::RECOVER_DEFAULT`].
    pub const RECOVER_PER_DEFAULT: Window = TEN_MINUTES;

    /// How somebody with this many points is treated.
    pub const fn bucket(score: u8) -> Bucket {
        match score {
            75.. => Bucket::Low,
            50..75 => Bucket::Medium,
            25..50 => Bucket::High,
            ..25 => Bucket::Critical,
        }
    }

    /// The meter of the points: what remains of it is the score.
    pub fn meter(&self) -> Result<TokenBucket, BadBucket> {
        TokenBucket::new(self.recover.into(), self.recover_per, Self::POINTS_MAX.into())
    }
}

/// How much harm is expected of a caller, by its reputation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bucket {
    /// It may use all of its limits.
    Low,
    /// Somewhat less.
    Medium,
    /// Much less.
    High,
    /// Hardly anything.
    Critical,
}

impl Bucket {
    /// All of them, from the best reputation to the worst.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// What is left of the limits.
    pub const fn share(self) -> Percent {
        const fn percent(percent: u64) -> Percent {
            match Percent::new(percent) {
                Some(share) => share,
                None => Percent::FULL,
            }
        }
        match self {
            Self::Low => Percent::FULL,
            Self::Medium => percent(60),
            Self::High => percent(30),
            Self::Critical => percent(10),
        }
    }

    /// The scores that lead here.
    pub const fn scores(self) -> RangeInclusive<u64> {
        match self {
            Self::Low => 75..=Reputation::POINTS_MAX as u64,
            Self::Medium => 50..=74,
            Self::High => 25..=49,
            Self::Critical => 0..=24,
        }
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What is remembered of how a caller behaves: meters that refusals are charged to, beside its limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conduct {
    /// Its reputation.
    pub reputation: Option<Reputation>,
    /// Its refusals, up to a block.
    pub blocks: Option<Blocks>,
}

impl Conduct {
    /// The most meters there are of it.
    pub const METERS_MAX: usize = 2;

    /// What concerns callers with a key.
    pub fn for_keys(self) -> Self {
        Self {
            reputation: self.reputation.filter(|reputation| reputation.applies_to == AppliesTo::All),
            blocks: self.blocks.filter(|blocks| blocks.applies_to == AppliesTo::All),
        }
    }
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
    /// The most refusals that may be asked for. Whoever is let go on longer has limits that are too wide.
    pub const AFTER_MAX: u32 = 10_000;
    /// See [`Blocks::AFTER_DEFAULT`].
    pub const WITHIN_DEFAULT: Window = Window::MINUTE;
    /// Long enough to save work, short enough that a mistake heals by itself.
    pub const FIRST_DEFAULT: Nanos = Nanos::from_secs(60);
    /// An address may have a new owner after this long.
    pub const MAX_DEFAULT: Nanos = Nanos::from_secs(3_600);

    /// The meter of the refusals: once nothing remains of it, the caller is blocked.
    pub fn meter(&self) -> Windowed {
        Windowed { limit: Amount::new(self.after.into()).unwrap_or(Amount::ONE), window: self.within }
    }
}

/// Too many different fingerprints behind one address: for a while, its clients without a session share one meter per
/// limit. An address is an IPv4 address or the /64 of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// How many are too many.
    pub fingerprints: u32,
    /// Within how long.
    pub window: Window,
    /// What remains of the limits of one client.
    pub squeeze_to: Percent,
    /// How many clients' worth of those limits the clients behind the address share.
    pub share: NonZeroU32,
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
    /// A family keeps working while a script runs behind the same address, and the script gains little.
    pub const SHARE_DEFAULT: NonZeroU32 = match NonZeroU32::new(5) {
        Some(share) => share,
        None => NonZeroU32::MIN,
    };
    /// The most clients' worth that may be shared: more than stand behind one address.
    pub const SHARE_MAX: u32 = 100_000;
    /// Long enough that rotating fingerprints does not pay.
    pub const LENGTH_DEFAULT: Nanos = Nanos::from_secs(3_600);
}

impl Default for Pressure {
    fn default() -> Self {
        Self {
            fingerprints: Self::FINGERPRINTS_DEFAULT,
            window: Self::WINDOW_DEFAULT,
            squeeze_to: Self::SQUEEZE_TO_DEFAULT,
            share: Self::SHARE_DEFAULT,
            length: Self::LENGTH_DEFAULT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Reputation};

    #[test]
    fn every_score_is_in_the_bucket_that_says_so_and_in_no_other() {
        for score in 0..=Reputation::POINTS_MAX {
            let has = |bucket: &Bucket| bucket.scores().contains(&u64::from(score));
            let found: Vec<Bucket> = Bucket::ALL.into_iter().filter(has).collect();
            assert_eq!(found, [Reputation::bucket(score)], "{score}");
        }
        assert_eq!(Bucket::ALL.map(|bucket| bucket.share().get()), [100, 60, 30, 10]);
        assert_eq!(Bucket::ALL.map(|bucket| *bucket.scores().start()), [75, 50, 25, 0]);
    }
}
