//! Tollgate: a rate and a quota per caller, both settled or neither.

use crate::callers::Callers;
use crate::contestant::Contestant;
use anyhow::Result;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// One request per microsecond, with a burst of an hour of them.
const EMISSION_NS: u64 = 1_000;
const TOLERANCE_NS: u64 = 3_600 * 1_000_000_000;
const QUOTA: u64 = u64::MAX / 2;

/// Both meters of a caller.
#[derive(Default)]
struct Meters {
    arrival_ns: u64,
    used: u64,
}

/// Rate and quota per caller, in memory.
pub(crate) struct Ours(Mutex<HashMap<Box<str>, Meters>>);

impl Contestant for Ours {
    const NAME: &'static str = "tollgate";

    type Now = u64;

    type Lane = ();

    fn build(callers: Callers) -> Result<Self> {
        Ok(Self(Mutex::new(HashMap::with_capacity(callers.as_usize()))))
    }

    fn lane(&self) {}

    fn admit(&self, _lane: &mut (), key: &str, now_ns: u64) -> bool {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meters) = callers.get_mut(key) {
            return meters.settle(now_ns);
        }
        callers.entry(key.into()).or_default().settle(now_ns)
    }
}

impl Meters {
    fn settle(&mut self, now_ns: u64) -> bool {
        let arrival_ns = self.arrival_ns.max(now_ns) + EMISSION_NS;
        if arrival_ns - now_ns > TOLERANCE_NS || self.used >= QUOTA {
            return false;
        }
        self.arrival_ns = arrival_ns;
        self.used += 1;
        true
    }
}
