//! Which readings of the wall clock are believed. Pure: every reading is an argument.
//!
//! The timeline is an offset plus monotonic time. A wall clock that is at most [`STEP_MAX`] ahead of it is followed
//! at once; several such steps share one budget. One that is further ahead is held until something confirms it;
//! meanwhile the timeline goes on as it did. A wall clock that is behind by more than [`STEP_MAX`] is followed when
//! that has lasted, or an operator says so; one that is less behind is never followed before the next start.

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::redis::TimeBound;

use super::budget::StepBudget;
use super::witness::Witness;

/// A forward step up to this is followed at once.
pub const STEP_MAX: Nanos = TimeBound::STEP_MAX;
/// At the start, a gap since the last record up to this is an absence and is followed at once.
pub const ABSENCE_MAX: Nanos = Nanos::from_secs(62 * 86_400);

/// All clocks at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The wall clock.
    pub wall: Timestamp,
    /// Monotonic time since any origin. It stops while the machine sleeps.
    pub monotonic: Nanos,
    /// The same with the time that the machine slept, since any origin.
    pub boottime: Nanos,
    /// The time of the store that several nodes share, if it was asked lately.
    pub store: Option<Timestamp>,
}

/// Why a forward step was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confirmation {
    /// It was at most [`STEP_MAX`].
    Small,
    /// The machine slept for about as long.
    Slept,
    /// The shared store has the same time, and had it before.
    Store,
    /// It has lasted.
    Lasted,
    /// An operator said so.
    Operator,
}

impl Confirmation {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Slept => "slept",
            Self::Store => "store",
            Self::Lasted => "lasted",
            Self::Operator => "operator",
        }
    }
}

/// What a reading changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Nothing.
    None,
    /// A forward step begins to be held.
    Held {
        /// How far the clock is ahead of the timeline.
        ahead: Nanos,
    },
    /// The clock was followed.
    Followed {
        /// By how much.
        ahead: Nanos,
        /// Why.
        why: Confirmation,
    },
    /// A step that was held is gone: the clock is back.
    Undone,
    /// The clock is far behind the timeline, which is not followed yet.
    Behind {
        /// By how much.
        behind: Nanos,
    },
    /// The timeline was set back to the clock.
    SetBack {
        /// By how much.
        behind: Nanos,
        /// Why.
        why: Confirmation,
    },
}

/// A forward step that is not followed yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldStep {
    /// How far the clock is ahead of the timeline.
    pub ahead: Nanos,
    /// How long that has lasted.
    pub lasted: Nanos,
    /// After how much longer it is followed.
    pub remaining: Nanos,
}

/// When a held step began, and the clock minus monotonic time then: the same step has the same offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    offset_ns: u64,
    since: Nanos,
    /// Ahead of the timeline, or of a step back, behind it.
    ahead: Nanos,
    lasted: Nanos,
}

impl Hold {
    /// The hold of a clock that shows `clock`, given the hold so far: another step begins another hold.
    pub(super) fn go_on(before: Option<Self>, clock: Timestamp, monotonic: Nanos, ahead: Nanos) -> Self {
        let offset_ns = clock.as_nanos().saturating_sub(monotonic.0);
        match before {
            Some(hold) if offset_ns.abs_diff(hold.offset_ns) <= STEP_MAX.0 => {
                Self { ahead, lasted: Nanos(monotonic.0.saturating_sub(hold.since.0)), ..hold }
            }
            _ => Self { offset_ns, since: monotonic, ahead, lasted: Nanos(0) },
        }
    }

    pub(super) fn has_lasted(&self, hold_for: Nanos) -> bool {
        self.lasted >= hold_for
    }

    /// Whether it begins with this reading.
    pub(super) fn begins(&self, before: Option<Self>) -> bool {
        before.is_none_or(|before| before.since != self.since || before.offset_ns != self.offset_ns)
    }

    pub(super) fn step(&self, hold_for: Nanos) -> HeldStep {
        let remaining = Nanos(hold_for.0.saturating_sub(self.lasted.0));
        HeldStep { ahead: self.ahead, lasted: self.lasted, remaining }
    }
}

/// The timeline, and the step that is held.
#[derive(Debug)]
pub(super) struct Gate {
    /// The timeline minus monotonic time.
    offset_ns: u64,
    /// Boot time minus monotonic time when the wall clock was last believed.
    asleep_ns: i128,
    hold: Option<Hold>,
    /// Whether the step that is held was there at the start. Nobody knows then whether the store stepped, too: it
    /// confirms nothing.
    held_from_start: bool,
    /// How long the wall clock has been far behind.
    back: Option<Hold>,
    small_steps: StepBudget,
    witness: Witness,
}

impl Gate {
    /// The timeline at the start. `not_before` is the latest instant on record, the epoch if there is none.
    ///
    /// A wall clock that is up to [`STEP_MAX`] behind the records starts where they end. One that is further behind is
    /// right, and the records are not.
    pub(super) fn start(reading: &Reading, not_before: Timestamp) -> Self {
        let behind = not_before.since(reading.wall);
        let gap = reading.wall.since(not_before);
        let is_held = not_before > Timestamp::EPOCH && gap > ABSENCE_MAX;
        let at = if is_held || (behind.0 > 0 && behind <= STEP_MAX) { not_before } else { reading.wall };
        Self {
            offset_ns: at.as_nanos().saturating_sub(reading.monotonic.0),
            asleep_ns: asleep_ns(reading),
            hold: is_held.then(|| Hold::go_on(None, reading.wall, reading.monotonic, gap)),
            held_from_start: is_held,
            back: None,
            small_steps: StepBudget::default(),
            witness: Witness::default(),
        }
    }

    pub(super) fn offset_ns(&self) -> u64 {
        self.offset_ns
    }

    /// The instant on the timeline.
    pub(super) fn now(&self, monotonic: Nanos) -> Timestamp {
        Timestamp::from_nanos(self.offset_ns.saturating_add(monotonic.0))
    }

    pub(super) fn held(&self, hold_for: Nanos) -> Option<HeldStep> {
        self.hold.map(|hold| hold.step(hold_for))
    }

    /// How far the wall clock is behind, if that is too far.
    pub(super) fn behind(&self) -> Option<Nanos> {
        self.back.map(|back| back.ahead)
    }

    /// Follows the wall clock if it is plausible or confirmed.
    pub(super) fn observe(&mut self, reading: &Reading, hold_for: Nanos) -> Change {
        self.witness.see(reading, hold_for);
        let ahead = reading.wall.since(self.now(reading.monotonic));
        if ahead.0 == 0 {
            self.asleep_ns = asleep_ns(reading);
            self.held_from_start = false;
            let was_held = self.hold.take().is_some();
            return self.observe_behind(reading, hold_for, was_held);
        }
        self.back = None;
        let slept_ns = u64::try_from(asleep_ns(reading) - self.asleep_ns).unwrap_or(0);
        let is_held = self.hold.is_some();
        let stepped = Nanos(ahead.0.saturating_sub(slept_ns));
        if ahead.0 <= slept_ns.saturating_add(STEP_MAX.0)
            && self.small_steps.take(stepped, reading.monotonic, hold_for)
        {
            let why = if ahead <= STEP_MAX { Confirmation::Small } else { Confirmation::Slept };
            let change = self.follow(reading, why);
            return if is_held && why == Confirmation::Small { Change::Undone } else { change };
        }
        if !self.held_from_start && self.witness.confirms(reading, hold_for) {
            return self.follow(reading, Confirmation::Store);
        }
        let hold = Hold::go_on(self.hold, reading.wall, reading.monotonic, ahead);
        if hold.has_lasted(hold_for) {
            return self.follow(reading, Confirmation::Lasted);
        }
        let begins = hold.begins(self.hold);
        self.hold = Some(hold);
        if begins { Change::Held { ahead } } else { Change::None }
    }

    /// The wall clock is at the timeline, or behind it.
    fn observe_behind(&mut self, reading: &Reading, hold_for: Nanos, was_held: bool) -> Change {
        let behind = self.now(reading.monotonic).since(reading.wall);
        if behind <= STEP_MAX {
            let was_behind = self.back.take().is_some();
            return if was_held || was_behind { Change::Undone } else { Change::None };
        }
        let back = Hold::go_on(self.back, reading.wall, reading.monotonic, behind);
        if back.has_lasted(hold_for) {
            return self.set_back(reading, Confirmation::Lasted);
        }
        let begins = back.begins(self.back);
        self.back = Some(back);
        match (begins, was_held) {
            (true, _) => Change::Behind { behind },
            (false, true) => Change::Undone,
            (false, false) => Change::None,
        }
    }

    /// An operator confirms the wall clock. Nothing happens where none is held.
    pub(super) fn confirm(&mut self, reading: &Reading) -> Change {
        if self.back.is_some() && self.now(reading.monotonic).since(reading.wall) > STEP_MAX {
            return self.set_back(reading, Confirmation::Operator);
        }
        if self.hold.is_none() {
            return Change::None;
        }
        self.follow(reading, Confirmation::Operator)
    }

    fn set_back(&mut self, reading: &Reading, why: Confirmation) -> Change {
        let behind = self.now(reading.monotonic).since(reading.wall);
        self.offset_ns = reading.wall.as_nanos().saturating_sub(reading.monotonic.0);
        self.asleep_ns = asleep_ns(reading);
        (self.hold, self.back) = (None, None);
        self.small_steps.reset();
        Change::SetBack { behind, why }
    }

    fn follow(&mut self, reading: &Reading, why: Confirmation) -> Change {
        let ahead = reading.wall.since(self.now(reading.monotonic));
        // Never backwards: the operator may confirm a wall clock that has just been set back.
        self.offset_ns = self.offset_ns.max(reading.wall.as_nanos().saturating_sub(reading.monotonic.0));
        self.asleep_ns = asleep_ns(reading);
        (self.hold, self.held_from_start) = (None, false);
        if matches!(why, Confirmation::Lasted | Confirmation::Operator) {
            self.small_steps.reset();
        }
        if ahead.0 == 0 { Change::None } else { Change::Followed { ahead, why } }
    }
}

/// How long the machine slept since the origins of the two clocks, and a constant.
fn asleep_ns(reading: &Reading) -> i128 {
    i128::from(reading.boottime.0) - i128::from(reading.monotonic.0)
}
