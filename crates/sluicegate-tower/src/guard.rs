//! What is held while a request is in flight, and let go of however it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use http::StatusCode;
use sluicegate_core::rule::Amount;

/// Stands for no status, and for what was reserved.
const NO_STATUS: u16 = 0;
const AS_RESERVED: u64 = u64::MAX;

/// A request in flight: its concurrency slot, and its charge until it is known what the request cost.
///
/// It ends when the last clone is dropped: with the body of the answer, with the connection, or, after an upgrade, with
/// whoever copies the bytes. It is in the extensions of a request that is let through with a permit: one under a
/// concurrency limit, one whose charge may be given back, and every one where the layer is
/// [`holding`](crate::SluicegateLayer::holding).
#[derive(Clone, Debug)]
pub struct InFlight(Arc<Held>);

#[derive(Debug)]
struct Held {
    end: End,
    /// What was answered.
    status: AtomicU16,
    /// What it cost in the end.
    cost: AtomicU64,
}

/// Who is told that a request has ended.
#[derive(Debug)]
enum End {
    #[cfg(feature = "embedded")]
    Embedded { engine: Arc<sluicegate_engine::Engine>, permit: Box<sluicegate_engine::Permit> },
    #[cfg(feature = "remote")]
    Remote(crate::remote::Permit),
}

impl InFlight {
    #[cfg(feature = "embedded")]
    pub(crate) fn new(
        engine: Arc<sluicegate_engine::Engine>,
        permit: Box<sluicegate_engine::Permit>,
    ) -> Self {
        engine.enter(&permit);
        Self::until(End::Embedded { engine, permit }, AS_RESERVED)
    }

    /// A request that was admitted elsewhere. Until it is [`passed`](InFlight::passed) on it has used nothing.
    #[cfg(feature = "remote")]
    pub(crate) fn remote(permit: crate::remote::Permit) -> Self {
        Self::until(End::Remote(permit), 0)
    }

    fn until(end: End, cost: u64) -> Self {
        Self(Arc::new(Held { end, status: AtomicU16::new(NO_STATUS), cost: AtomicU64::new(cost) }))
    }

    /// The service gets the request now.
    #[cfg(feature = "remote")]
    pub(crate) fn passed(&self) {
        self.0.cost.store(AS_RESERVED, Ordering::Relaxed);
    }

    /// What was answered. A server error gives the charge back where the plan says so.
    pub fn answered(&self, status: StatusCode) {
        self.0.status.store(status.as_u16(), Ordering::Relaxed);
    }

    /// What the request truly cost, be it more or less than was reserved. It is settled when the request ends, by the
    /// last word about it; without one it cost what was reserved.
    pub fn cost(&self, cost: u64) {
        self.0.cost.store(cost.min(Amount::MAX), Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let status = Some(self.status.load(Ordering::Relaxed)).filter(|status| *status != NO_STATUS);
        let cost = Some(self.cost.load(Ordering::Relaxed)).filter(|cost| *cost != AS_RESERVED);
        match &self.end {
            #[cfg(feature = "embedded")]
            End::Embedded { engine, permit } => {
                engine.leave(permit);
                // What cannot be recorded is not settled: the charge stands, and is counted as such.
                let _ = engine.finish(permit, status, cost, engine.now());
            }
            #[cfg(feature = "remote")]
            End::Remote(permit) => permit.finish(status, cost),
        }
    }
}
