//! What was used, by the instant at which it stops counting: sliding buckets and the sliding log.
//!
//! The two differ only in that instant: a log entry counts for exactly one window, a bucket for one window
//! after its end. The entries carry running totals, so that any stretch of them is summed by one subtraction:
//! a decision looks at the front, the back, and rarely a handful of entries in between.

use std::collections::VecDeque;
use std::ops::Range;

use super::{Amount, Answer, Ask, Verdict, Windowed, beyond, fit};
use crate::time::{Nanos, Timestamp, Window};

/// How many buckets a sliding window is divided into: one a minute for a day.
const BUCKETS: u32 = 1_440;

/// The last instant until which anything can count: that of the longest bucket of the longest window.
const UNTIL_MAX: u64 = Timestamp::MAX.as_nanos() + 2 * Window::MAX.as_nanos();

/// How long what is used at an instant counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grain {
    /// One window after the end of its bucket, which has this many seconds.
    Buckets(u32),
    /// Exactly one window.
    Instants,
}

impl Grain {
    /// Buckets for a rule: a 1,440th of its window, in whole seconds.
    pub fn buckets(rule: &Windowed) -> Self {
        Self::Buckets(rule.window.as_secs().div_ceil(BUCKETS))
    }

    /// When something used at `at` stops counting.
    fn until(self, rule: &Windowed, at: Timestamp) -> u64 {
        let counted_from = match self {
            Self::Instants => at.as_nanos(),
            Self::Buckets(secs) => {
                let length = Nanos::from_secs(secs).0;
                (at.as_nanos() / length + 1) * length
            }
        };
        counted_from + rule.window.as_nanos()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    /// The first instant at which it does not count any more.
    until: u64,
    /// Everything used up to and with this entry.
    total: u64,
}

/// Entries in the order in which they stop counting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    entries: VecDeque<Entry>,
    /// Everything used before the first entry.
    forgotten: u64,
}

/// What is taken from some entries.
struct Removal {
    removed: u64,
    /// Of these nothing is left.
    gone: Range<usize>,
}

/// What becomes of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineStep {
    /// Nothing.
    Keep,
    /// What has stopped counting by then is forgotten, and this much is added.
    Add {
        /// How much.
        cost: u64,
        /// Until when it counts.
        until: u64,
        /// The instant it is added at.
        now: u64,
    },
    /// This much is taken from the entries that count until then or longer, the first of them first.
    Remove {
        /// How much.
        cost: u64,
        /// Until when they count at the least.
        until: u64,
    },
}

impl Timeline {
    /// What becomes of the timeline when `ask` is done at `now`, and what the meter says then.
    pub fn settle(&self, rule: &Windowed, grain: Grain, ask: Ask, now: Timestamp) -> (TimelineStep, Verdict) {
        let limit = match ask {
            Ask::TakeBeyond { beyond: more, .. } => beyond(rule.limit.get(), more),
            _ => rule.limit.get(),
        };
        let expired = self.expired(now.as_nanos());
        let used = self.used_after(expired);
        let add = |cost| TimelineStep::Add {
            cost,
            until: self.until_in_order(rule, grain, now),
            now: now.as_nanos(),
        };
        let (answer, step) = match ask {
            Ask::Look => (Answer::Fits, TimelineStep::Keep),
            Ask::Take(cost) | Ask::TakeBeyond { cost, .. } => {
                let answer = fit(used, cost, limit, || self.until_freed(expired, used + cost - limit, now));
                (answer, if answer == Answer::Fits { add(cost) } else { TimelineStep::Keep })
            }
            Ask::Force(cost) | Ask::Drain(cost) => (Answer::Fits, add(cost.min(Amount::MAX - used))),
            Ask::Give { cost, charged_at, .. } => {
                let until = grain.until(rule, charged_at);
                // Of what does not count any more nothing is given back.
                let counts = until > now.as_nanos();
                (Answer::Fits, if counts { TimelineStep::Remove { cost, until } } else { TimelineStep::Keep })
            }
        };
        (step, self.verdict(rule, step, expired, answer, now))
    }

    /// When the newest usage was counted, to the bucket; nothing if there is none.
    pub(crate) fn newest(&self, rule: &Windowed, grain: Grain) -> Option<Timestamp> {
        let bucket = match grain {
            Grain::Instants => 0,
            Grain::Buckets(secs) => Nanos::from_secs(secs).0,
        };
        let until = self.entries.back()?.until;
        Some(Timestamp::from_nanos(until.saturating_sub(rule.window.as_nanos()).saturating_sub(bucket)))
    }

    /// Does what [`Timeline::settle`] said.
    pub fn apply(&mut self, step: TimelineStep) {
        match step {
            TimelineStep::Keep => {}
            TimelineStep::Add { cost, until, now } => self.add(cost, until, now),
            TimelineStep::Remove { cost, until } => self.remove(cost, until),
        }
    }

    /// What it holds: until when something counts, and how much that is. In order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, u64)> {
        let amounts = self
            .entries
            .iter()
            .scan(self.forgotten, |before, entry| Some(entry.total - std::mem::replace(before, entry.total)));
        self.entries.iter().map(|entry| entry.until).zip(amounts)
    }

    /// Adds an entry behind the others, unless no charges could have come to that.
    pub(crate) fn restore(&mut self, until: u64, amount: u64) -> Option<()> {
        let last = self.entries.back().map_or(Entry { until: 0, total: self.forgotten }, |back| *back);
        let total = last.total.checked_add(amount).filter(|total| total - self.forgotten <= Amount::MAX)?;
        if amount == 0 || until <= last.until || until > UNTIL_MAX {
            return None;
        }
        self.entries.push_back(Entry { until, total });
        Some(())
    }

    /// How many entries it holds.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.len()
    }

    /// The meter after `step`, read without doing it.
    fn verdict(
        &self,
        rule: &Windowed,
        step: TimelineStep,
        expired: usize,
        answer: Answer,
        now: Timestamp,
    ) -> Verdict {
        let mut used = self.used_after(expired);
        let (mut first, mut last) = (expired, self.entries.len());
        let mut added = None;
        match step {
            TimelineStep::Keep => {}
            TimelineStep::Add { cost, until, .. } => {
                used += cost;
                // A sum that stopped at its maximum takes nothing more, and nothing leaves no entry.
                added = (cost > 0).then_some(until);
            }
            TimelineStep::Remove { cost, until } => {
                let Removal { removed, gone } = self.removal(cost, until);
                used -= removed;
                if gone.start == first {
                    first = gone.end;
                }
                if gone.end == last {
                    last = gone.start;
                }
            }
        }
        let held = |index: usize| {
            if first < last { self.entries.get(index).map(|entry| entry.until) } else { None }
        };
        let wait = |until: u64| Nanos(until - now.as_nanos());
        let next = held(first).or(added).map_or(Nanos(rule.window.as_nanos()), wait);
        let reset = added.or_else(|| held(last.wrapping_sub(1))).map_or(Nanos::ZERO, wait);
        Verdict { answer, used, next, reset }
    }

    /// What taking `cost` from the entries that count until `until` or longer would do. The first of them holds it,
    /// unless it was used under another kind of window, or while the clock was behind: then it is in later ones.
    fn removal(&self, cost: u64, until: u64) -> Removal {
        let from = self.entries.partition_point(|entry| entry.until < until);
        let removed = cost.min(self.used_after(from));
        let reached = self.total_before(from) + removed;
        let end = self.entries.partition_point(|entry| entry.total <= reached);
        Removal { removed, gone: from..end.max(from) }
    }

    /// How many entries at the front do not count any more.
    fn expired(&self, now: u64) -> usize {
        match self.entries.front() {
            Some(front) if front.until <= now => self.entries.partition_point(|entry| entry.until <= now),
            _ => 0,
        }
    }

    fn used_after(&self, expired: usize) -> u64 {
        self.entries.back().map_or(0, |back| back.total - self.total_before(expired))
    }

    fn total_before(&self, index: usize) -> u64 {
        match index.checked_sub(1).and_then(|before| self.entries.get(before)) {
            Some(entry) => entry.total,
            None => self.forgotten,
        }
    }

    /// How long until at least `excess` of what counts now is forgotten.
    fn until_freed(&self, expired: usize, excess: u64, now: Timestamp) -> Nanos {
        let reached = self.total_before(expired) + excess;
        let index = self.entries.partition_point(|entry| entry.total < reached);
        self.entries.get(index).map_or(Nanos::ZERO, |entry| Nanos(entry.until - now.as_nanos()))
    }

    /// When something used now stops counting, but never before what was used already: the order holds
    /// whatever the clock does.
    fn until_in_order(&self, rule: &Windowed, grain: Grain, now: Timestamp) -> u64 {
        let newest = self.entries.back().map_or(0, |back| back.until);
        grain.until(rule, now).max(newest)
    }

    fn add(&mut self, cost: u64, until: u64, now: u64) {
        while let Some(front) = self.entries.front().filter(|front| front.until <= now) {
            self.forgotten = front.total;
            self.entries.pop_front();
        }
        self.keep_totals_small();
        match self.entries.back_mut() {
            _ if cost == 0 => {}
            Some(back) if back.until == until => back.total += cost,
            back => {
                let total = back.map_or(self.forgotten, |back| back.total) + cost;
                self.entries.push_back(Entry { until, total });
            }
        }
    }

    fn remove(&mut self, cost: u64, until: u64) {
        let Removal { removed, gone } = self.removal(cost, until);
        for entry in self.entries.range_mut(gone.end..) {
            entry.total -= removed;
        }
        self.entries.drain(gone);
    }

    /// Totals only ever grow; long before they could run over, they start again from what is still held.
    fn keep_totals_small(&mut self) {
        if self.forgotten > u64::MAX / 4 {
            for entry in &mut self.entries {
                entry.total -= self.forgotten;
            }
            self.forgotten = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Windowed = Windowed { limit: Amount::new(200).unwrap(), window: Window::DAY };

    fn take(timeline: &mut Timeline, cost: u64, secs: u32) -> Answer {
        let (step, verdict) =
            timeline.settle(&DAY, Grain::buckets(&DAY), Ask::Take(cost), Timestamp::from_secs(secs));
        timeline.apply(step);
        verdict.answer
    }

    #[test]
    fn an_entry_takes_what_is_said_of_it() {
        assert_eq!(size_of::<Entry>() as u64, crate::rule::SLIDING_LOG_ENTRY_BYTES);
    }

    #[test]
    fn a_day_has_a_bucket_a_minute() {
        assert_eq!(Grain::buckets(&DAY), Grain::Buckets(60));
        let mut timeline = Timeline::default();
        for secs in 0..200 {
            assert_eq!(take(&mut timeline, 1, 86_400 + secs), Answer::Fits);
        }
        assert_eq!(timeline.len(), 4);
        assert_eq!(take(&mut timeline, 1, 86_600), Answer::Wait(Nanos::from_secs(86_400 + 60 - 200)));
        assert_eq!(take(&mut timeline, 60, 2 * 86_400 + 60), Answer::Fits);
        assert_eq!(take(&mut timeline, 1, 2 * 86_400 + 119), Answer::Wait(Nanos::from_secs(1)));
    }

    #[test]
    fn an_idle_day_is_forgotten_at_the_next_charge() {
        let mut timeline = Timeline::default();
        for minute in 0..1_000 {
            take(&mut timeline, 1, minute * 60);
        }
        assert_eq!(timeline.len(), 200);
        take(&mut timeline, 1, 4 * 86_400);
        assert_eq!(timeline.len(), 1);
    }

    #[test]
    fn totals_that_grew_large_start_again() {
        let mut timeline = Timeline { entries: VecDeque::new(), forgotten: u64::MAX / 4 + 1 };
        timeline.add(5, 100, 1);
        assert_eq!((timeline.forgotten, timeline.used_after(0)), (0, 5));
    }
}
