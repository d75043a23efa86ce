//! What undoing a charge gave back of the overage beyond what the charge had added to it.
//!
//! A charge that nobody was told of is on no record, and its undoing needs none. But while it stood, others may have
//! been billed for what it pushed beyond their quota. That is given back with it, and the ledger is to say so.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sluicegate_core::plan::Mode;
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::Timestamp;
use tokio::sync::Notify;

use super::owed::{Billed, Owed};
use super::{Applied, Settled};

/// The most that wait to be recorded. What comes beyond that is the next reconciliation's to find.
const WAITING_MAX: usize = 1 << 16;

/// Something that was undone, and took more back than it had charged.
#[derive(Clone, Debug)]
pub struct Undone {
    /// What undid it.
    pub owed: Owed,
    /// Who is billed.
    pub billed: Billed,
    /// When it was charged.
    pub charged_at: Timestamp,
    /// How much more the overage fell by than it had grown.
    pub overage: u64,
}

impl Undone {
    /// That of something that was given back, by how much the overage fell then. Nothing where there is nothing to say.
    fn of(owed: &Owed, fell: u64) -> Option<Self> {
        let Mode::Refund { charged_at, .. } = owed.request.mode else { return None };
        let billed = owed.billed?;
        let overage = fell.checked_sub(billed.overage).filter(|more| *more > 0)?;
        Some(Self { owed: owed.clone(), billed, charged_at, overage })
    }
}

/// What is to be recorded.
#[derive(Default)]
pub(super) struct UndoneList {
    waiting: Mutex<VecDeque<Undone>>,
    news: OnceLock<Arc<Notify>>,
}

impl UndoneList {
    /// Who is told that there is something.
    pub(super) fn tell(&self, news: Arc<Notify>) {
        let _ = self.news.set(news);
    }

    pub(super) fn next(&self) -> Option<Undone> {
        self.waiting.lock().pop_front()
    }

    /// Something was undone, and this came of it.
    pub(super) fn settled(&self, owed: &Owed, settled: &Settled) {
        if let Outcome::Admitted { overage } = settled.outcome {
            self.note(Undone::of(owed, overage));
        }
    }

    /// The same, as it was found out later.
    pub(super) fn resolved(&self, owed: &Owed, applied: Applied) {
        if let Applied::Admitted { overage } = applied {
            self.note(Undone::of(owed, overage));
        }
    }

    fn note(&self, undone: Option<Undone>) {
        let Some(undone) = undone else { return };
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(undone);
        }
        drop(waiting);
        if let Some(news) = self.news.get() {
            news.notify_one();
        }
    }
}
