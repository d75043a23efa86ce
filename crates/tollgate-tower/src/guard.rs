//! What is held while a request is in flight, and let go of however it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tollgate_engine::{Engine, Permit};

/// A request in flight: its concurrency slot, and its charge until it is known whether the request succeeded.
///
/// It ends when the last clone is dropped: with the body of the answer, with the connection, or, after an upgrade, with
/// whoever copies the bytes. It is in the extensions of a request that is let through with a permit.
#[derive(Clone, Debug)]
pub struct InFlight(Arc<Held>);

#[derive(Debug)]
struct Held {
    engine: Arc<Engine>,
    permit: Box<Permit>,
    /// What was answered; 0: nothing yet.
    status: AtomicU16,
}

impl InFlight {
    pub(crate) fn new(engine: Arc<Engine>, permit: Box<Permit>) -> Self {
        engine.enter(&permit);
        Self(Arc::new(Held { engine, permit, status: AtomicU16::new(0) }))
    }

    /// What was answered. A server error gives the charge back where the plan says so.
    pub fn answered(&self, status: http::StatusCode) {
        self.0.status.store(status.as_u16(), Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let status = self.status.load(Ordering::Relaxed);
        self.engine.leave(&self.permit);
        // A refund that cannot be recorded is not made: the charge stands, and is counted as such.
        let _ = self.engine.finish(&self.permit, (status != 0).then_some(status), None, self.engine.now());
    }
}
