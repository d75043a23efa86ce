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

impl Slot {
    fn of(lease: SlotLease) -> Self {
        Self { deadline: lease.until.as_nanos(), id: lease.id }
    }
}

/// The slots that are held, the earliest deadline first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slots(Vec<Slot>);

/// A slot, and until when at the latest it is to be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotLease {
    /// Under which id.
    pub id: SlotId,
    /// Until when.
    pub until: Timestamp,
}

/// A slot that is to be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotHold {
    /// Under which id.
    pub id: SlotId,
    /// From now on for how long. Nothing: for the lease of the limit.
    pub hold: Option<Nanos>,
}

/// What is asked of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotAsk {
    /// Nothing: only how many are held.
    Look,
    /// To take one.
    Take(SlotId),
    /// To hold one for longer that is held already; else to take one.
    Renew(SlotId),
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
    /// A slot is held for longer.
    Renew {
        /// Under which id.
        id: SlotId,
        /// Until when at the latest.
        deadline: u64,
    },
    /// A slot is released.
    Release(SlotId),
}

impl Slots {
    /// What becomes of the slots when `ask` is done at `now`, and what the meter says then.
    pub fn settle(&self, limit: u64, lease: Nanos, ask: SlotAsk, now: Timestamp) -> (SlotStep, Verdict) {
        let held = &self.0[self.expired(now.as_nanos())..];
        if let SlotAsk::Renew(id) = ask {
            return self.renew(held, limit, lease, id, now);
        }
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
            SlotAsk::Take(_) | SlotAsk::Renew(_) => {
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

    /// What becomes of the slots when one is held for longer. Rare, so that looking for it may take long.
    fn renew(
        &self,
        held: &[Slot],
        limit: u64,
        lease: Nanos,
        id: SlotId,
        now: Timestamp,
    ) -> (SlotStep, Verdict) {
        let mut others = held.iter().filter(|slot| slot.id != id).map(|slot| slot.deadline);
        let (first, last) = (others.clone().next(), others.clone().next_back());
        let used = others.by_ref().count() as u64;
        if used == held.len() as u64 {
            return self.settle(limit, lease, SlotAsk::Take(id), now);
        }
        let deadline = now.plus(lease).as_nanos();
        let until = |deadline: u64| Nanos(deadline - now.as_nanos());
        let next = until(first.map_or(deadline, |first| first.min(deadline)));
        let reset = until(last.map_or(deadline, |last| last.max(deadline)));
        let step = SlotStep::Renew { id, deadline };
        (step, Verdict { answer: Answer::Fits, used: used + 1, next, reset })
    }

    /// Does what [`Slots::settle`] said.
    pub fn apply(&mut self, step: SlotStep) {
        match step {
            SlotStep::Keep => {}
            SlotStep::Take { id, deadline, now } => {
                self.0.drain(..self.expired(now));
                self.insert(Slot { deadline, id });
            }
            SlotStep::Renew { id, deadline } => {
                self.0.retain(|slot| slot.id != id);
                self.insert(Slot { deadline, id });
            }
            SlotStep::Release(id) => self.0.retain(|slot| slot.id != id),
        }
    }

    /// Holds many slots at once for longer, or for less long; one that is not held is taken while fewer than `limit`
    /// are. Says how many are held then. The work is that of sorting `leases` and of one pass over the slots,
    /// whatever the number of leases.
    pub fn renew_all(&mut self, limit: u64, leases: &[SlotLease], now: Timestamp) -> u64 {
        let now = now.as_nanos();
        let mut wanted: Vec<Slot> = leases.iter().map(|lease| Slot::of(*lease)).collect();
        wanted.retain(|slot| slot.deadline > now);
        wanted.sort_unstable_by_key(|slot| slot.id);
        wanted.dedup_by_key(|slot| slot.id);
        self.0.drain(..self.expired(now));
        let mut is_held = vec![false; wanted.len()];
        self.0.retain(|slot| match wanted.binary_search_by_key(&slot.id, |wanted| wanted.id) {
            Ok(place) => {
                is_held[place] = true;
                false
            }
            Err(_) => true,
        });
        let renewed = is_held.iter().filter(|held| **held).count();
        let used = (self.0.len() + renewed) as u64;
        let mut free = limit.saturating_sub(used);
        for (slot, is_held) in wanted.into_iter().zip(is_held) {
            if is_held || free > 0 {
                free -= u64::from(!is_held);
                self.0.push(slot);
            }
        }
        // Two sorted runs at the most differ: the standard sort recognises the one that is sorted already.
        self.0.sort_by_key(|slot| slot.deadline);
        self.0.len() as u64
    }

    fn insert(&mut self, slot: Slot) {
        let place = self.0.partition_point(|other| other.deadline <= slot.deadline);
        self.0.insert(place, slot);
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
    #[test]
    fn renewing_holds_a_slot_for_longer_and_takes_no_second_one() {
        let mut slots = Slots::default();
        ask(&mut slots, SlotAsk::Take(SlotId(1)), 100);
        ask(&mut slots, SlotAsk::Take(SlotId(2)), 100);
        let renewed = ask(&mut slots, SlotAsk::Renew(SlotId(1)), 150);
        assert_eq!((renewed.answer, renewed.used), (Answer::Fits, 2));
        assert_eq!((renewed.next, renewed.reset), (Nanos::from_secs(10), Nanos::from_secs(60)));
        assert_eq!(ask(&mut slots, SlotAsk::Take(SlotId(3)), 160).used, 2);
        assert_eq!(
            ask(&mut slots, SlotAsk::Renew(SlotId(4)), 170).answer,
            Answer::Wait(Nanos::from_secs(40))
        );
        assert_eq!(ask(&mut slots, SlotAsk::Renew(SlotId(4)), 210).used, 2);
    }

    #[test]
    fn many_slots_are_renewed_at_once_and_only_free_ones_are_taken() {
        let mut slots = Slots::default();
        ask(&mut slots, SlotAsk::Take(SlotId(1)), 100);
        ask(&mut slots, SlotAsk::Take(SlotId(2)), 110);
        let lease = |id, secs| SlotLease { id: SlotId(id), until: Timestamp::from_secs(secs) };
        // The third finds no room, and one that has ended already is not held.
        let leases = [lease(3, 500), lease(1, 400), lease(2, 150), lease(9, 120)];
        assert_eq!(slots.renew_all(2, &leases, Timestamp::from_secs(120)), 2);
        assert_eq!(ask(&mut slots, SlotAsk::Look, 149).reset, Nanos::from_secs(251));
        assert_eq!(
            (ask(&mut slots, SlotAsk::Look, 149).used, ask(&mut slots, SlotAsk::Look, 150).used),
            (2, 1)
        );
        assert_eq!(slots.renew_all(2, &[lease(3, 500)], Timestamp::from_secs(150)), 2);
        assert_eq!(ask(&mut slots, SlotAsk::Release(SlotId(1)), 151).used, 1);
        assert_eq!(ask(&mut slots, SlotAsk::Look, 499).used, 1);
        assert_eq!(ask(&mut slots, SlotAsk::Look, 500).used, 0);
    }

    #[test]
    fn renewing_all_is_renewing_each() {
        // Every subset of five slots, of which three are held, under a limit of four.
        for subset in 0..32_u64 {
            let leases: Vec<SlotLease> = (0..5)
                .filter(|id| subset >> id & 1 == 1)
                .map(|id| SlotLease { id: SlotId(id), until: Timestamp::from_secs(220) })
                .collect();
            let (mut each, mut all) = (Slots::default(), Slots::default());
            for slots in [&mut each, &mut all] {
                for id in 0..3 {
                    let (step, _) =
                        slots.settle(4, LEASE, SlotAsk::Take(SlotId(id)), Timestamp::from_secs(150));
                    slots.apply(step);
                }
            }
            for lease in &leases {
                let (step, _) = each.settle(4, LEASE, SlotAsk::Renew(lease.id), Timestamp::from_secs(160));
                each.apply(step);
            }
            all.renew_all(4, &leases, Timestamp::from_secs(160));
            for slots in [&mut each, &mut all] {
                slots.0.sort_by_key(|slot| (slot.deadline, slot.id));
            }
            assert_eq!(each, all, "{subset:b}");
        }
    }
}
