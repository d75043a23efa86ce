//! Keeping the clock: following it, asking the shared store for its time, and what an operator says.

use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::database::{Database, DatabaseError};

use crate::clock::{Change, ClockStatus, Confirmation, Followed};
use crate::engine::Engine;

/// Where in the database the last confirmed instant is kept.
const CONFIRMED: &str = "clock.confirmed";

/// What steps of clocks have put in doubt.
#[derive(Debug, Default)]
pub(crate) struct ClockDoubt {
    set_back: AtomicBool,
    leapt: AtomicBool,
    /// Whether a clock that was behind at the start is believed by now.
    start_believed: AtomicBool,
}

/// Whether time was set back: meters may be in a period that has not begun, and hours closed that are not over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SetBack(pub(crate) bool);

/// Whether a leap of the wall clock was followed: records may lie in the period that has begun with it. Or whether the
/// clock of the shared store leapt, or is back: it may have expired meters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leapt(pub(crate) bool);

/// What the start knew about time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeMark {
    /// The last instant that an earlier process confirmed.
    pub(crate) confirmed: Option<Timestamp>,
    /// What was recorded later than this comes from a clock that was wrong. Nothing where the clock of the start may
    /// be what is wrong.
    pub(crate) latest_plausible: Option<Timestamp>,
}

/// The last instant that a process confirmed, if one ever did.
pub(crate) fn confirmed_time(database: &Database) -> Result<Option<Timestamp>, DatabaseError> {
    let kept = database.meta(CONFIRMED)?.and_then(|bytes| bytes.try_into().ok());
    Ok(kept.map(u64::from_be_bytes).map(Timestamp::from_nanos))
}

impl Engine {
    /// Keeps the instant for the next start: an absence is counted from it. Every minute or so, and at the end.
    ///
    /// A clock that was set back since the last start is believed when it has lasted as long as a forward step must.
    pub fn remember_time(&self, now: Timestamp) {
        let hold = self.snapshot.load().policy().clock.hold;
        let was_later = self.time_mark.confirmed.is_some_and(|confirmed| confirmed > now);
        if was_later && now.since(self.opened_at) < hold {
            return;
        }
        if was_later && !self.clock_doubt.start_believed.swap(true, Ordering::Relaxed) {
            // The start did not know which clock to believe, and counted nothing again.
            self.clock_doubt.set_back.store(true, Ordering::Relaxed);
        }
        self.keep_confirmed(now);
    }

    fn keep_confirmed(&self, now: Timestamp) {
        // Without it, the next start counts the absence from the last record.
        drop(self.database.set_meta(CONFIRMED, now.as_nanos().to_be_bytes().to_vec()));
    }

    /// Follows the clocks as far as they are plausible, and bounds the time of the shared store. About once a second.
    pub fn follow_clock(&self) {
        let followed = self.clock().follow();
        log(followed);
        self.bound_store_time();
        self.note_doubt(followed);
    }

    /// Notes what is to be counted again: see [`Engine::take_clock_doubt`].
    fn note_doubt(&self, Followed { wall, store }: Followed) {
        if matches!(wall, Change::SetBack { .. }) {
            self.keep_confirmed(self.now());
            self.clock_doubt.set_back.store(true, Ordering::Relaxed);
        }
        let is_leap = |why: Confirmation| !matches!(why, Confirmation::Small | Confirmation::Slept);
        let wall_leapt = matches!(wall, Change::Followed { why, .. } if is_leap(why));
        let store_leapt = matches!(store, Change::Held { .. } | Change::Followed { .. } | Change::Undone);
        if wall_leapt || store_leapt {
            self.clock_doubt.leapt.store(true, Ordering::Relaxed);
        }
    }

    /// What the clocks have put in doubt since this was last asked. The caller counts again: see
    /// [`crate::Books::set_right_after_steps`].
    pub(crate) fn take_clock_doubt(&self) -> (SetBack, Leapt) {
        let take = |flag: &AtomicBool| flag.swap(false, Ordering::Relaxed);
        (SetBack(take(&self.clock_doubt.set_back)), Leapt(take(&self.clock_doubt.leapt)))
    }

    /// What could not be counted again stays in doubt.
    pub(crate) fn put_clock_doubt(&self, (SetBack(set_back), Leapt(leapt)): (SetBack, Leapt)) {
        self.clock_doubt.set_back.fetch_or(set_back, Ordering::Relaxed);
        self.clock_doubt.leapt.fetch_or(leapt, Ordering::Relaxed);
    }

    /// Asks the shared store for its time. Does nothing without a shared store; an unreachable one confirms nothing.
    pub async fn ask_store_time(&self) {
        let Some(shared) = &self.shared else { return };
        if let Ok(at) = shared.journal.server_time().await {
            self.clock().hear_store(at);
        }
    }

    /// The steps of clocks that are held.
    pub fn clock_status(&self) -> ClockStatus {
        self.clock().status()
    }

    /// An operator confirms the clocks that are held: they are followed at once.
    pub fn confirm_clock(&self) -> Followed {
        let followed = self.clock().confirm();
        log(followed);
        self.bound_store_time();
        self.note_doubt(followed);
        followed
    }

    fn bound_store_time(&self) {
        if let Some(shared) = &self.shared {
            shared.time_bound.set(self.now(), self.clock().store_lead());
        }
    }
}

fn log(followed: Followed) {
    log_change("system clock", followed.wall);
    log_change("clock of the store", followed.store);
}

fn log_change(clock: &'static str, change: Change) {
    match change {
        Change::Held { ahead } => tracing::warn!(
            clock,
            ahead_s = secs(ahead),
            "the clock leapt ahead and is not followed: decisions go on by the time before. It is followed when the \
             step has lasted, or after `sluicegate clock confirm`"
        ),
        Change::Followed { ahead, why } if ahead > crate::clock::STEP_MAX => {
            tracing::warn!(
                clock,
                ahead_s = secs(ahead),
                confirmed_by = why.as_str(),
                "the clock is followed"
            );
        }
        Change::Followed { ahead, .. } if ahead > Nanos::from_secs(1) => {
            tracing::info!(clock, ahead_s = secs(ahead), "the clock stepped ahead a little and is followed");
        }
        Change::Undone => tracing::info!(clock, "the clock is plausible again"),
        Change::Behind { behind } => tracing::warn!(
            clock,
            behind_s = secs(behind),
            "the clock was set back and is not followed: it is followed when that has lasted, or after `sluicegate \
             clock confirm`"
        ),
        Change::SetBack { behind, why } => tracing::warn!(
            clock,
            behind_s = secs(behind),
            confirmed_by = why.as_str(),
            "time was set back: meters in a period that has not begun are counted again"
        ),
        Change::None | Change::Followed { .. } => {}
    }
}

fn secs(span: Nanos) -> u64 {
    u64::from(Timestamp::from_nanos(span.0).as_secs())
}
