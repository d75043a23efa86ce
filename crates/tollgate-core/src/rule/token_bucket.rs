//! Token bucket as GCRA: the state is one instant, and a unit takes an exact fraction of a nanosecond.

use crate::time::Window;

/// `amount` units per `window`, `burst` of them at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenBucket {
    amount: u64,
    window: Window,
    burst: u64,
}

/// Why numbers make no token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadBucket {
    /// The amount is zero or above [`TokenBucket::AMOUNT_MAX`].
    Amount,
    /// The burst is zero or above [`TokenBucket::BURST_MAX`].
    Burst,
    /// An empty bucket would take longer than [`TokenBucket::FILL_YEARS_MAX`] years to fill.
    FillsTooSlowly,
}

impl TokenBucket {
    /// The largest amount per window.
    pub const AMOUNT_MAX: u64 = 1_000_000_000;
    /// The largest burst.
    pub const BURST_MAX: u64 = u32::MAX as u64;
    /// The longest time, in years of 365 days, that an empty bucket may take to fill.
    pub const FILL_YEARS_MAX: u64 = 100;

    /// The bucket, unless one of its numbers is out of range.
    pub const fn new(amount: u64, window: Window, burst: u64) -> Result<Self, BadBucket> {
        if amount == 0 || amount > Self::AMOUNT_MAX {
            return Err(BadBucket::Amount);
        }
        if burst == 0 || burst > Self::BURST_MAX {
            return Err(BadBucket::Burst);
        }
        let fill_max_s = Self::FILL_YEARS_MAX * 365 * 86_400;
        if burst as u128 * window.as_secs() as u128 > fill_max_s as u128 * amount as u128 {
            return Err(BadBucket::FillsTooSlowly);
        }
        Ok(Self {
            amount,
            window,
            burst,
        })
    }

    /// Units per window.
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// The window.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// Units that fit at once.
    pub const fn burst(&self) -> u64 {
        self.burst
    }
}
