//! One meter for everybody who found no free cell in a set.
//!
//! It admits at least what its members would be admitted together: the bucket times the number of different members
//! lately, and never less than a set of cells would. So nobody is refused because a table is full.

use sluicegate_core::rule::TokenBucket;
use sluicegate_core::time::{Nanos, Timestamp};

use super::{EdgeVerdict, WAYS};
use crate::abuse::sketch::estimates;

/// For each number of bits set, how many members. Every bit set is more than can be told apart.
const MEMBERS: [u16; 65] = estimates();

/// The count is rough, and misses who was there only in the last generation: in doubt there are three times as many,
/// rather than somebody refused who kept within the limit.
const DOUBT: u64 = 3;

/// Members are remembered for a bucket's time, and for as long as this at least: generations are numbered in seconds.
const GENERATION_MIN_SECS: u64 = 2;

/// The meter, and who shared it in this generation and the one before.
#[derive(Clone, Copy, Default)]
pub(super) struct Crowd {
    /// When the shared bucket will be full again.
    full_at: u64,
    /// A bit for each member of this generation, chosen by its hash.
    members: u64,
    /// Which second this generation began with.
    since: u32,
    /// How many members the last generation had.
    before: u16,
    /// How many there were at the last request.
    counted: u16,
}

impl Crowd {
    pub(super) fn check(&mut self, tag: u32, bucket: &TokenBucket, now: Timestamp) -> EdgeVerdict {
        let fill = bucket.fill_time();
        self.turn(fill, now);
        self.members |= 1 << (tag % 64);
        let members = MEMBERS[self.members.count_ones() as usize].max(self.before).max(ways());
        // A clock that stepped back, or a bucket that was made smaller, leaves an empty bucket, not a closed one.
        let mut debt = self.full_at.saturating_sub(now.as_nanos()).min(fill.0);
        if members > self.counted {
            // The units that were used stay the same, and each takes less time to come back.
            debt = u64::try_from(u128::from(debt) * u128::from(self.counted) / u128::from(members))
                .unwrap_or(debt);
        }
        self.counted = members;
        // With m members each request costs an mth of what it costs one, and the bucket takes as long to fill.
        let unit = (bucket.window().as_nanos() / bucket.amount() / (DOUBT * u64::from(members))).max(1);
        self.full_at = now.as_nanos() + debt;
        let wanted = debt + unit;
        if wanted > fill.0 {
            return EdgeVerdict::Refuse { retry_after: Nanos(wanted - fill.0) };
        }
        self.full_at = now.as_nanos() + wanted;
        EdgeVerdict::Pass
    }

    /// Begins another generation where this one is over.
    fn turn(&mut self, fill: Nanos, now: Timestamp) {
        let length = fill.as_secs_ceil().max(GENERATION_MIN_SECS);
        let age = now.as_secs().abs_diff(self.since);
        if u64::from(age) < length {
            return;
        }
        let recent = u64::from(age) < 2 * length;
        self.before = if recent { MEMBERS[self.members.count_ones() as usize] } else { 0 };
        (self.members, self.since) = (0, now.as_secs());
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a handful")]
const fn ways() -> u16 {
    WAYS as u16
}
