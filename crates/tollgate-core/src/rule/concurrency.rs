//! Slots that are taken under an id and held until they are released or their deadline passes.

use super::{Answer, Verdict};
use crate::time::{Nanos, Timestamp};

/// The id under which a slot is held: that of the decision that took it, and never of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    deadline: u64,
    id: SlotId,
}

/// The slots that are held, the earliest deadline first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slots(Vec<Slot>);

/// What is asked of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotAsk {
    /// Nothing: only how many are held.
    Look,
    /// To take one.
    Take(SlotId),
    /// To release one.
    Release(SlotId),
}

/// What becomes of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotStep {
    /// Nothing.
    Keep,
    /// What has passed its deadline by then is dropped, and a slot is taken.
    Take {
        /// Under which id.
        id: SlotId,
        /// Until when at the latest.
        deadline: u64,
        /// The instant it is taken at.
        now: u64,
    },
    /// A slot is released.
    Release(SlotId),
}

impl Slots {
    /// What becomes of the slots when `ask` is done at `now`, and what the meter says then.
    pub fn settle(&self, limit: u64, lease: Nanos, ask: SlotAsk, now: Timestamp) -> (SlotStep, Verdict) {
        let held = &self.0[self.expired(now.as_nanos())..];
        let wait = |deadline: u64| Nanos(deadline - now.as_nanos());
        let deadline = now.plus(lease).as_nanos();
        let used = held.len() as u64;
        let (first, last) = (held.first().map(|slot| slot.deadline), held.last().map(|slot| slot.deadline));
        let (answer, step, used, first, last) = match ask {
            SlotAsk::Look => (Answer::Fits, SlotStep::Keep, used, first, last),
            SlotAsk::Take(id) if used < limit => {
                let step = SlotStep::Take { id, deadline, now: now.as_nanos() };
                let first = first.map_or(deadline, |first| first.min(deadline));
                let last = last.map_or(deadline, |last| last.max(deadline));
                (Answer::Fits, step, used + 1, Some(first), Some(last))
            }
            SlotAsk::Take(_) => {
                // The slot whose end leaves fewer than `limit`. Usually the first; later ones where the limit
                // was lowered.
                let freed = usize::try_from(used - limit).ok().and_then(|index| held.get(index));
                let answer = Answer::Wait(freed.map_or(Nanos::ZERO, |slot| wait(slot.deadline)));
                (answer, SlotStep::Keep, used, first, last)
            }
            SlotAsk::Release(id) => {
                let mut left = held.iter().filter(|slot| slot.id != id);
                let (first, last) = (left.clone().next(), left.clone().next_back());
                let used = left.by_ref().count() as u64;
                let ends = |slot: Option<&Slot>| slot.map(|slot| slot.deadline);
                (Answer::Fits, SlotStep::Release(id), used, ends(first), ends(last))
            }
        };
        let until = |deadline: Option<u64>| deadline.map_or(Nanos::ZERO, wait);
        (step, Verdict { answer, used, next: until(first), reset: until(last) })
    }

    /// Does what [`Slots::settle`] said.
    pub fn apply(&mut self, step: SlotStep) {
        match step {
            SlotStep::Keep => {}
            SlotStep::Take { id, deadline, now } => {
                self.0.drain(..self.expired(now));
                let place = self.0.partition_point(|slot| slot.deadline <= deadline);
                self.0.insert(place, Slot { deadline, id });
            }
            SlotStep::Release(id) => self.0.retain(|slot| slot.id != id),
        }
    }

    /// How many at the front have passed their deadline.
    fn expired(&self, now: u64) -> usize {
        self.0.partition_point(|slot| slot.deadline <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Nanos = Nanos::from_secs(60);

    fn ask(slots: &mut Slots, ask: SlotAsk, secs: u32) -> Verdict {
        let (step, verdict) = slots.settle(2, LEASE, ask, Timestamp::from_secs(secs));
        slots.apply(step);
        verdict
    }

    #[test]
    fn a_slot_is_free_again_when_released_or_past_its_deadline() {
        let mut slots = Slots::default();
        assert_eq!(ask(&mut slots, SlotAsk::Take(SlotId(1)), 100).answer, Answer::Fits);
        assert_eq!(ask(&mut slots, SlotAsk::Take(SlotId(2)), 110).answer, Answer::Fits);
        assert_eq!(ask(&mut slots, SlotAsk::Take(SlotId(3)), 120).answer, Answer::Wait(Nanos::from_secs(40)));
        assert_eq!(ask(&mut slots, SlotAsk::Release(SlotId(2)), 121).used, 1);
        assert_eq!(ask(&mut slots, SlotAsk::Take(SlotId(3)), 122).answer, Answer::Fits);
        assert_eq!(ask(&mut slots, SlotAsk::Take(SlotId(4)), 160).answer, Answer::Fits);
    }
}
