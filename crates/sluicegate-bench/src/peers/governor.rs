//! governor: one GCRA limit per key in a dashmap with string keys, on its default clock.

use crate::callers::Callers;
use crate::contestant::Contestant;
use anyhow::Result;
use governor::{DefaultKeyedRateLimiter, Quota};
use std::num::NonZeroU32;

const PER_SECOND: NonZeroU32 = NonZeroU32::new(1_000_000).expect("it is not zero");

/// One keyed limit.
pub(crate) struct Governor(DefaultKeyedRateLimiter<String>);

impl Contestant for Governor {
    const NAME: &'static str = "governor";

    /// It reads quanta's clock inside the check.
    type Now = ();

    /// A check wants a `&String`; one that is filled anew for each call spares it an allocation per decision.
    type Lane = String;

    fn build(_callers: Callers) -> Result<Self> {
        let quota = Quota::per_second(PER_SECOND).allow_burst(NonZeroU32::MAX);
        Ok(Self(DefaultKeyedRateLimiter::dashmap(quota)))
    }

    fn lane(&self) -> String {
        String::with_capacity(64)
    }

    fn admit(&self, lane: &mut String, key: &str, _now: ()) -> bool {
        lane.clear();
        lane.push_str(key);
        self.0.check_key(lane).is_ok()
    }
}
