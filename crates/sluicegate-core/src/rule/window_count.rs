//! One count and the window it belongs to: fixed windows and calendar periods.

use super::{Answer, Ask, Verdict, Windowed, beyond, count_up, fit};
use crate::calendar::Period;
use crate::time::{Nanos, Timestamp};

/// What was used in the window that starts at `start`, in seconds since the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WindowCount {
    /// The count.
    pub count: u64,
    /// The start of its window.
    pub start: u32,
}

impl Windowed {
    /// The aligned window that `now` lies in.
    #[inline]
    pub fn aligned(&self, now: Timestamp) -> Period {
        let secs = now.as_secs();
        self.starting_at(secs - secs % self.window.as_secs())
    }

    /// The aligned window with this start.
    #[inline]
    pub(crate) fn starting_at(&self, start: u32) -> Period {
        let start = Timestamp::from_secs(start);
        Period { start, end: start.plus(Nanos(self.window.as_nanos())) }
    }
}

impl WindowCount {
    /// What the count becomes when `ask` is done in `window`, and what the meter says then.
    ///
    /// `window` is the later of the window of `now` and the window of this count: see [`WindowCount::is_ahead_of`].
    // Always inlined: where it is known what is asked, little is left of it.
    #[inline(always)]
    pub fn settle(self, window: Period, limit: u64, ask: Ask, now: Timestamp) -> (Self, Verdict) {
        let start = window.start.as_secs();
        let held = if self.start == start { self.count } else { 0 };
        let left = window.end.since(now);
        let (answer, count) = match ask {
            Ask::Look => (Answer::Fits, held),
            Ask::Take(cost) => match fit(held, cost, limit, || left) {
                Answer::Fits => (Answer::Fits, held + cost),
                refusal => (refusal, held),
            },
            Ask::TakeBeyond { cost, beyond: more } => match fit(held, cost, beyond(limit, more), || left) {
                Answer::Fits => (Answer::Fits, held + cost),
                refusal => (refusal, held),
            },
            Ask::Force(cost) | Ask::Drain(cost) => (Answer::Fits, count_up(held, cost)),
            Ask::Give { cost, charged_at, .. } if charged_at >= window.start => {
                (Answer::Fits, held.saturating_sub(cost))
            }
            Ask::Give { .. } => (Answer::Fits, held),
        };
        let reset = if count == 0 { Nanos::ZERO } else { left };
        let after = if count == held { self } else { Self { count, start } };
        (after, Verdict { answer, used: count, next: left, reset })
    }

    /// Whether the count belongs to a window after the one that starts at `start`: the clock stepped back,
    /// and the later window goes on.
    #[inline]
    pub fn is_ahead_of(self, start: Timestamp) -> bool {
        self.start > start.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Amount;
    use crate::time::Window;

    const RULE: Windowed = Windowed { limit: Amount::new(5).unwrap(), window: Window::MINUTE };

    fn take(state: WindowCount, cost: u64, secs: u32) -> (WindowCount, Answer) {
        let now = Timestamp::from_secs(secs);
        let (state, verdict) = state.settle(RULE.aligned(now), 5, Ask::Take(cost), now);
        (state, verdict.answer)
    }

    #[test]
    fn refused_until_the_window_ends_then_admitted() {
        let (state, answer) = take(WindowCount::default(), 5, 61);
        assert_eq!(answer, Answer::Fits);
        assert_eq!(take(state, 1, 90).1, Answer::Wait(Nanos::from_secs(30)));
        assert_eq!(take(state, 1, 120).1, Answer::Fits);
        assert_eq!(take(state, 6, 120).1, Answer::Never);
    }

    #[test]
    fn a_charge_of_an_earlier_window_is_not_given_back_to_this_one() {
        let (state, _) = take(WindowCount::default(), 3, 61);
        let now = Timestamp::from_secs(130);
        let give = |secs| Ask::Give { cost: 2, reserved: 3, charged_at: Timestamp::from_secs(secs) };
        let (state, _) = state.settle(RULE.aligned(now), 5, Ask::Take(4), now);
        assert_eq!(state.settle(RULE.aligned(now), 5, give(61), now).1.used, 4);
        assert_eq!(state.settle(RULE.aligned(now), 5, give(130), now).1.used, 2);
    }
}
