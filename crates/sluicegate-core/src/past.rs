//! The period before the one that a meter counts in: it takes corrections for a while after its end.

use crate::overage::OverageBaseline;
use crate::rule::Amount;
use crate::time::{Nanos, Timestamp};

/// How long after its end a period takes corrections: a permit lives for up to a day, and is finished up to a day late.
pub const PAST_KEPT_FOR: Nanos = Nanos::from_secs(48 * 3_600);

/// What was used in a period that is over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PastPeriod {
    /// What was used in it.
    pub count: u64,
    /// When it ended, in seconds since the epoch.
    pub end: u32,
    /// What its overage is counted from.
    pub baseline: OverageBaseline,
    /// What was included in it. Nothing: what the limit includes under which the meter was written.
    pub included: Option<u64>,
}

impl PastPeriod {
    /// The overage of the period if so much was used in it, under a limit that includes so much.
    pub fn overage(&self, included: u64, used: u64) -> u64 {
        self.baseline.overage(self.included.unwrap_or(included), used)
    }

    /// The same for a limit that includes something else from now on: in this period as much was included as before.
    #[must_use]
    pub fn apart_from(self, included: Option<Amount>) -> Self {
        let included = self.included.unwrap_or_else(|| included.map_or(Amount::MAX, Amount::get));
        Self { included: Some(included), ..self }
    }

    /// Whether it still takes corrections.
    pub fn is_kept_at(&self, now: Timestamp) -> bool {
        is_kept(Timestamp::from_secs(self.end), now)
    }

    /// Whether anything was used or recorded in it.
    pub const fn says_something(&self) -> bool {
        self.count > 0 || self.baseline.recorded > 0
    }
}

/// Whether a period that ends then takes corrections at `now`.
pub fn is_kept(end: Timestamp, now: Timestamp) -> bool {
    now.since(end) < PAST_KEPT_FOR
}

/// How long after `now` a period that ends then takes corrections.
pub fn kept_for(end: Timestamp, now: Timestamp) -> Nanos {
    Nanos((end.as_nanos() + PAST_KEPT_FOR.0).saturating_sub(now.as_nanos()))
}
