//! What requests cost more than was reserved, until the store has it.
//!
//! A true cost may pass a limit once, and nothing more is admitted until it is paid off. Only the journal tells the
//! store, and only what is on disk. So a service is answered when the store was told, and every node refuses from then
//! on. A front end that forwards requests does not wait at their end; here the next requests of the same caller wait.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use sluicegate_ledger::{Flags, Kind, Position, Record};
use sluicegate_store::redis::{Expiry, StoreMode};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Shared;
use crate::engine::Engine;

/// How long a finish waits for the store at the most. What it says is on record already.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far the store was told.
#[derive(Debug)]
pub(crate) struct InForce {
    /// Everything before it that this process has recorded is settled.
    settled: watch::Sender<u64>,
    /// By home, the last record that it waits for.
    owed: Mutex<HashMap<HomeId, Position, RandomState>>,
    /// Whether there is any, for those who come often.
    is_any_owed: AtomicBool,
}

impl Default for InForce {
    fn default() -> Self {
        let (settled, _) = watch::channel(0);
        Self { settled, owed: Mutex::default(), is_any_owed: AtomicBool::new(false) }
    }
}

impl InForce {
    /// Has the next requests of a home wait for a record, if it is of something that cost more.
    pub(crate) fn owe(&self, record: &Record, at: Position) {
        if record.kind == Kind::Correction && record.flags.contains(Flags::OWED) {
            self.owed.lock().insert(record.home, at);
            self.is_any_owed.store(true, Ordering::Release);
        }
    }

    /// The journal has settled everything before it.
    pub(super) fn pass(&self, until: Position) {
        if self.is_any_owed.load(Ordering::Acquire) {
            let mut owed = self.owed.lock();
            owed.retain(|_, at| *at >= until);
            self.is_any_owed.store(!owed.is_empty(), Ordering::Release);
        }
        self.settled.send_replace(until.0);
    }

    /// The record that requests of a home wait for.
    fn owed_by(&self, home: HomeId) -> Option<Position> {
        if !self.is_any_owed.load(Ordering::Acquire) {
            return None;
        }
        self.owed.lock().get(&home).copied()
    }
}

impl Engine {
    /// Waits until the store has what the last request of this home cost more, or the time is up.
    pub(crate) async fn wait_for_owed(&self, shared: &Shared, home: HomeId, by: Option<Expiry>) {
        let Some(at) = shared.in_force.owed_by(home) else { return };
        let by = by.unwrap_or_else(|| shared.homes.expiry());
        self.wait_in_force(shared, at, by.instant()).await;
    }

    /// Waits until the store has a record of what cost more, if that is to be expected.
    pub(crate) async fn finish_in_force(&self, shared: &Shared, at: Position) {
        self.wait_in_force(shared, at, Instant::now() + PATIENCE).await;
    }

    async fn wait_in_force(&self, shared: &Shared, at: Position, by: Instant) {
        if shared.homes.mode() == StoreMode::Degraded {
            return;
        }
        let settled = async {
            // At once, and not with the next flush that is due.
            if self.spool.wait_durable(at).await.is_ok() {
                shared.journal.wake();
                let _ = shared.in_force.settled.subscribe().wait_for(|until| *until > at.0).await;
            }
        };
        let _ = tokio::time::timeout_at(by, settled).await;
    }
}
