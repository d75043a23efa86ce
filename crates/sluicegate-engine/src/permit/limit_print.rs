//! What a permit says of the limits it was charged under, so that its end is settled only where the charge is found.

use sluicegate_core::image::encode_entry;
use sluicegate_core::limit::{Limit, Per};
use sluicegate_core::meter::Terms;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::tariff::{LimitPlaces, Tariff};
use sluicegate_core::time::Nanos;

/// Hashes of one limit. Equal ones stand for limits of one name and sharer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LimitPrint {
    /// Of the algorithm: as [`Rule::is_algorithm_of`] compares.
    pub(super) algorithm: u32,
    /// Of what a state depends on: as [`Rule::reads_states_of`] compares.
    pub(super) state: u32,
}

/// How exactly limits have to be the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SameBy {
    Algorithm,
    State,
}

impl LimitPrint {
    pub(crate) fn of(limit: &Limit) -> Self {
        let state = hash(limit, &without_amount(&limit.rule));
        let algorithm = match limit.rule {
            Rule::TokenBucket(_) => {
                // The one size that every bucket is compared at.
                hash(limit, &Rule::Concurrency { limit: Amount::ONE, lease: Nanos(u64::MAX) })
            }
            _ => state,
        };
        Self { algorithm, state }
    }

    fn get(self, by: SameBy) -> u32 {
        match by {
            SameBy::Algorithm => self.algorithm,
            SameBy::State => self.state,
        }
    }
}

/// The places of limits in `now` that are not among `then`.
pub(crate) fn others_than(now: &Tariff, then: &[LimitPrint], by: SameBy) -> LimitPlaces {
    now.places(|limit| {
        let print = LimitPrint::of(limit).get(by);
        !then.iter().any(|charged| charged.get(by) == print)
    })
}

/// A rule of the same states, whatever its amount. A bucket's states depend on all of it.
fn without_amount(rule: &Rule) -> Rule {
    let one = |windowed: &Windowed| Windowed { limit: Amount::ONE, ..*windowed };
    match rule {
        Rule::TokenBucket(bucket) => Rule::TokenBucket(*bucket),
        Rule::FixedWindow(windowed) => Rule::FixedWindow(one(windowed)),
        Rule::SlidingWindow(windowed) => Rule::SlidingWindow(one(windowed)),
        Rule::SlidingBuckets(windowed) => Rule::SlidingBuckets(one(windowed)),
        Rule::SlidingLog(windowed) => Rule::SlidingLog(one(windowed)),
        Rule::Calendar { calendar, .. } => Rule::Calendar { limit: Amount::ONE, calendar: calendar.clone() },
        Rule::Concurrency { .. } => Rule::Concurrency { limit: Amount::ONE, lease: Nanos::ZERO },
    }
}

fn hash(limit: &Limit, rule: &Rule) -> u32 {
    let per = match limit.per {
        Per::Key => 1,
        Per::Account => 2,
        Per::Client => 3,
    };
    let mut bytes = vec![per];
    encode_entry(&limit.name, Terms { rule, included: None, keeps_past: false }, &mut bytes);
    let [first, second, third, fourth, ..] = *blake3::hash(&bytes).as_bytes();
    u32::from_le_bytes([first, second, third, fourth])
}
