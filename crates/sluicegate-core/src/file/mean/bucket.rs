//! What a rate and its burst mean together.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{AmountPer, At, Field, Multiplier, Whole};
use crate::rule::TokenBucket;
use crate::rule::token_bucket::BadBucket;
use crate::time::Window;

use super::range;

/// How much a bucket is to hold.
#[derive(Clone, Copy)]
pub(super) enum Burst {
    /// As much as the amount: nothing else was said.
    Amount,
    /// This much, said at this place.
    Said(u64, Place),
    /// Something that was already complained about.
    Wrong,
}

impl Burst {
    /// What `burst` says.
    pub(super) fn of(field: &Field<Whole>, sink: &mut Sink) -> Self {
        match field {
            Field::Absent => Self::Amount,
            Field::Wrong => Self::Wrong,
            Field::Given(at) => Self::checked(at.value.0, at.place, sink),
        }
    }

    /// What `burst` or `burst_multiplier` says; not both.
    pub(super) fn or_multiplied(
        burst: &Field<Whole>,
        multiplier: &Field<Multiplier>,
        rate: Option<&At<AmountPer>>,
        sink: &mut Sink,
    ) -> Self {
        let said = Self::of(burst, sink);
        match (multiplier, rate) {
            (Field::Absent, _) => said,
            (Field::Given(multiplier), _) if !burst.is_absent() => {
                let message = "`burst` and `burst_multiplier` both say how much comes at once";
                sink.report(multiplier.key, message, "keep one of the two");
                Self::Wrong
            }
            (Field::Given(multiplier), Some(rate)) => {
                let burst = multiplier.value.of(rate.value.amount);
                match u64::try_from(burst).ok().filter(|burst| *burst <= TokenBucket::BURST_MAX) {
                    Some(burst) => Self::Said(burst, multiplier.place),
                    None => {
                        let max = range::readable(TokenBucket::BURST_MAX);
                        let message = format!("`rate` times this is a burst of more than {max}");
                        sink.report(multiplier.place, message, "make the multiplier or the rate smaller");
                        Self::Wrong
                    }
                }
            }
            (Field::Given(_), None) | (Field::Wrong, _) => Self::Wrong,
        }
    }

    fn checked(burst: u64, place: Place, sink: &mut Sink) -> Self {
        match range::at_most(burst, TokenBucket::BURST_MAX, "the burst", place, sink) {
            Some(burst) => Self::Said(burst, place),
            None => Self::Wrong,
        }
    }
}

/// A bucket from an amount, per second if it does not say, and a burst.
pub(super) fn bucket(what: &str, rate: &At<AmountPer>, burst: Burst, sink: &mut Sink) -> Option<TokenBucket> {
    let AmountPer { amount, window } = rate.value;
    let amount = range::at_most(amount, TokenBucket::AMOUNT_MAX, what, rate.place, sink)?;
    let (burst, burst_place) = match burst {
        Burst::Amount => (amount, rate.place),
        Burst::Said(burst, place) => (burst, place),
        Burst::Wrong => return None,
    };
    match TokenBucket::new(amount, window.unwrap_or(Window::SECOND), burst) {
        Ok(bucket) => Some(bucket),
        Err(BadBucket::Amount | BadBucket::Burst) => None,
        Err(BadBucket::FillsTooSlowly) => {
            let message = format!(
                "at this rate an empty bucket would take more than {} years to fill",
                TokenBucket::FILL_YEARS_MAX
            );
            sink.report(burst_place, message, "make the burst smaller or the rate higher");
            None
        }
    }
}
