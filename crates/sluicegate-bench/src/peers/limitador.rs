//! limitador: one fixed window per key, in its in-memory storage.

use crate::callers::Callers;
use crate::contestant::Contestant;
use anyhow::Result;
use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};
use std::collections::HashMap;

const NAMESPACE: &str = "bench";
const VARIABLE: &str = "key";
const DAY_S: u64 = 86_400;

/// One limit that is counted per value of a variable.
pub(crate) struct Limitador {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Contestant for Limitador {
    const NAME: &'static str = "limitador";

    /// At about 1 KB per caller, ten million would take 10 GB.
    const CALLERS_MAX: u32 = 2_000_000;

    const PACE: usize = 20;

    /// It reads the system clock inside the check.
    type Now = ();

    type Lane = ();

    fn build(callers: Callers) -> Result<Self> {
        // Its storage is a cache: with twice the room, none of the callers is evicted.
        let limiter = RateLimiter::new(u64::from(callers.get()) * 2);
        limiter.add_limit(Limit::new(NAMESPACE, u64::MAX / 2, DAY_S, [], [Expression::parse(VARIABLE)?]));
        Ok(Self { limiter, namespace: NAMESPACE.into() })
    }

    fn lane(&self) {}

    fn admit(&self, _lane: &mut (), key: &str, _now: ()) -> bool {
        let context = Context::from(HashMap::from([(VARIABLE.to_owned(), key.to_owned())]));
        self.limiter
            .check_rate_limited_and_update(&self.namespace, &context, 1)
            .is_ok_and(|check| !check.limited && check.counters.len() == 1)
    }
}
