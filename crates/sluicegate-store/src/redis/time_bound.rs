//! How far the clock of the server is believed.
//!
//! The script decides by the server's `TIME`, so that all nodes have one clock. Each call carries the latest instant
//! that its node finds plausible; where `TIME` is past it, the script decides by the node's own instant instead.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::time::{Nanos, Timestamp};

/// The latest plausible instant, as a node knows it.
#[derive(Debug, Default)]
pub struct TimeBound {
    /// The confirmed instant of the node, on the server's timeline, when it was last set. Zero: there is no bound.
    confirmed_ns: AtomicU64,
    /// By how much the server's timeline is ahead of the node's, where that was confirmed.
    lead_ns: AtomicU64,
}

impl TimeBound {
    /// How far `TIME` may be ahead of the node's instant. The script knows the same number.
    pub const STEP_MAX: Nanos = Nanos::from_secs(3_600);

    /// Sets the bound: the node's instant, and the confirmed lead of the server. About once a second.
    pub fn set(&self, now: Timestamp, lead: Nanos) {
        self.lead_ns.store(lead.0, Ordering::Relaxed);
        self.confirmed_ns.store(now.plus(lead).as_nanos(), Ordering::Relaxed);
    }

    /// The latest plausible instant. `now` is the node's instant of a call, which may be long past.
    pub(crate) fn latest(&self, now: Timestamp) -> Timestamp {
        let confirmed = Timestamp::from_nanos(self.confirmed_ns.load(Ordering::Relaxed));
        if confirmed == Timestamp::EPOCH {
            return Timestamp::MAX;
        }
        let lead = Nanos(self.lead_ns.load(Ordering::Relaxed));
        confirmed.max(now.plus(lead)).plus(Self::STEP_MAX)
    }
}
