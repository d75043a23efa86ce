//! A meter: the state of one limit for one subject, whatever the algorithm.

use crate::calendar::Period;
use crate::rule::concurrency::{SlotAsk, SlotId, SlotStep, Slots};
use crate::rule::sliding_window::TwoCounts;
use crate::rule::timeline::{Grain, Timeline, TimelineStep};
use crate::rule::token_bucket::Tat;
use crate::rule::window_count::WindowCount;
use crate::rule::{Ask, Rule, Verdict, Windowed};
use crate::time::Timestamp;

/// The state of a meter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meter {
    /// Of a token bucket.
    Tat(Tat),
    /// Of a fixed window or a calendar period.
    Count(WindowCount),
    /// Of a two-count sliding window.
    Counts(TwoCounts),
    /// Of sliding buckets or a sliding log.
    Timeline(Timeline),
    /// Of a concurrency limit.
    Slots(Slots),
}

/// What becomes of a meter: for small states the new state, for large ones what to change in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Of a token bucket.
    Tat(Tat),
    /// Of a fixed window or a calendar period.
    Count(WindowCount),
    /// Of a two-count sliding window.
    Counts(TwoCounts),
    /// Of sliding buckets or a sliding log.
    Timeline(TimelineStep),
    /// Of a concurrency limit.
    Slots(SlotStep),
}

/// Whether a meter had to be changed before it could be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Readied {
    /// No.
    AsItWas,
    /// Yes.
    Changed,
}

/// The instant of a decision and what has been looked up for it: one value, so that every meter sees the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The instant.
    pub now: Timestamp,
    /// For a calendar rule, the period of `now`; asked of the calendar when absent.
    pub period: Option<Period>,
    /// The id under which a slot is taken or released.
    pub slot: SlotId,
}

impl Meter {
    /// A meter that was never used.
    pub fn fresh(rule: &Rule) -> Self {
        match rule {
            Rule::TokenBucket(_) => Self::Tat(Tat::default()),
            Rule::FixedWindow(_) | Rule::Calendar { .. } => Self::Count(WindowCount::default()),
            Rule::SlidingWindow(_) => Self::Counts(TwoCounts::default()),
            Rule::SlidingBuckets(_) | Rule::SlidingLog(_) => Self::Timeline(Timeline::default()),
            Rule::Concurrency { .. } => Self::Slots(Slots::default()),
        }
    }

    /// What becomes of the meter when `ask` is done under `rule`, and what it says then.
    ///
    /// A state that another algorithm wrote says nothing under this one, as if it were fresh: [`Meter::bring_up`] is how its
    /// usage is kept.
    #[inline]
    pub fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment) -> (Step, Verdict) {
        let now = moment.now;
        match rule {
            Rule::TokenBucket(bucket) => {
                let tat = if let Self::Tat(tat) = self { *tat } else { Tat::default() };
                let (tat, verdict) = bucket.settle(tat, ask, now);
                (Step::Tat(tat), verdict)
            }
            Rule::FixedWindow(windowed) => {
                let count = self.count();
                let window = windowed.aligned(now);
                let window =
                    if count.is_ahead_of(window.start) { windowed.starting_at(count.start) } else { window };
                let (count, verdict) = count.settle(window, windowed.limit.get(), ask, now);
                (Step::Count(count), verdict)
            }
            Rule::Calendar { limit, calendar } => {
                let count = self.count();
                let period = moment.period.unwrap_or_else(|| calendar.period_at(now));
                let period = if count.is_ahead_of(period.start) {
                    calendar.period_at(Timestamp::from_secs(count.start))
                } else {
                    period
                };
                let (count, verdict) = count.settle(period, limit.get(), ask, now);
                (Step::Count(count), verdict)
            }
            Rule::SlidingWindow(windowed) => {
                let counts = if let Self::Counts(counts) = self { *counts } else { TwoCounts::default() };
                let (counts, verdict) = counts.settle(windowed, ask, now);
                (Step::Counts(counts), verdict)
            }
            Rule::SlidingBuckets(windowed) => self.on_timeline(windowed, Grain::buckets(windowed), ask, now),
            Rule::SlidingLog(windowed) => self.on_timeline(windowed, Grain::Instants, ask, now),
            Rule::Concurrency { limit, lease } => {
                let ask = match ask {
                    Ask::Look => SlotAsk::Look,
                    Ask::Take(_) | Ask::Force(_) => SlotAsk::Take(moment.slot),
                    Ask::Give { .. } => SlotAsk::Release(moment.slot),
                };
                let empty = Slots::default();
                let slots = if let Self::Slots(slots) = self { slots } else { &empty };
                let (step, verdict) = slots.settle(limit.get(), *lease, ask, now);
                (Step::Slots(step), verdict)
            }
        }
    }

    /// Does what [`Meter::settle`] said.
    #[inline]
    pub fn apply(&mut self, step: Step) {
        match (step, &mut *self) {
            (Step::Tat(tat), _) => *self = Self::Tat(tat),
            (Step::Count(count), _) => *self = Self::Count(count),
            (Step::Counts(counts), _) => *self = Self::Counts(counts),
            (Step::Timeline(step), Self::Timeline(timeline)) => timeline.apply(step),
            (Step::Slots(step), Self::Slots(slots)) => slots.apply(step),
            (Step::Timeline(step), _) => {
                let mut timeline = Timeline::default();
                timeline.apply(step);
                *self = Self::Timeline(timeline);
            }
            (Step::Slots(step), _) => {
                let mut slots = Slots::default();
                slots.apply(step);
                *self = Self::Slots(slots);
            }
        }
    }

    /// Makes a meter that was last written under `written` ready to be asked under `rule`, and says whether that changed it.
    ///
    /// Such a change comes from an edit of the policy or a step of the clock and not from a request, so it is kept even where
    /// the request is refused.
    #[inline]
    pub fn bring_up(&mut self, written: &Rule, rule: &Rule, moment: &Moment) -> Readied {
        let mended = self.mend(written, moment.now);
        if rule.reads_states_of(written) {
            return mended;
        }
        *self = self.carried_over(written, rule, moment);
        Readied::Changed
    }

    /// Sets right what a clock that stepped back has left, and says whether that changed the meter.
    #[inline]
    pub fn mend(&mut self, rule: &Rule, now: Timestamp) -> Readied {
        if let (Rule::TokenBucket(bucket), Self::Tat(tat)) = (rule, &mut *self)
            && let Some(mended) = bucket.mended(*tat, now)
        {
            *tat = mended;
            return Readied::Changed;
        }
        Readied::AsItWas
    }

    /// The meter under `new`, with the usage it has under `old`.
    fn carried_over(&self, old: &Rule, new: &Rule, moment: &Moment) -> Self {
        if let (Rule::TokenBucket(old), Rule::TokenBucket(new), Self::Tat(tat)) = (old, new, self) {
            return Self::Tat(new.carry_over(old, *tat, moment.now));
        }
        let mut carried = Self::fresh(new);
        let slots_on_either_side =
            matches!(old, Rule::Concurrency { .. }) || matches!(new, Rule::Concurrency { .. });
        // The old period, if there was one, is not the new one's.
        let (_, verdict) = self.settle(old, Ask::Look, &Moment { period: None, ..*moment });
        if verdict.used > 0 && !slots_on_either_side {
            let (step, _) = carried.settle(new, Ask::Force(verdict.used), moment);
            carried.apply(step);
        }
        carried
    }

    fn count(&self) -> WindowCount {
        if let Self::Count(count) = self { *count } else { WindowCount::default() }
    }

    fn on_timeline(&self, rule: &Windowed, grain: Grain, ask: Ask, now: Timestamp) -> (Step, Verdict) {
        let empty = Timeline::default();
        let timeline = if let Self::Timeline(timeline) = self { timeline } else { &empty };
        let (step, verdict) = timeline.settle(rule, grain, ask, now);
        (Step::Timeline(step), verdict)
    }
}
