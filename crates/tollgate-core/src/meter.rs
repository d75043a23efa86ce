//! A meter: the state of one limit for one subject, whatever the algorithm.

use crate::calendar::Period;
use crate::rule::concurrency::{SlotAsk, SlotId, SlotStep, Slots};
use crate::rule::sliding_window::TwoCounts;
use crate::rule::timeline::{Grain, Timeline, TimelineStep};
use crate::rule::token_bucket::Tat;
use crate::rule::window_count::WindowCount;
use crate::rule::{Answer, Ask, Rule, Verdict, Windowed};
use crate::time::{Nanos, Timestamp};

/// A state that can be asked before it is changed.
pub trait State {
    /// What becomes of it: for small states the new state, for large ones what to change in it.
    type Step: Copy;

    /// What becomes of the meter when `ask` is done under `rule`, and what it says then.
    ///
    /// A state that another algorithm wrote says nothing under this one, as if it were fresh: [`Meter::bring_up`] is how its
    /// usage is kept.
    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment) -> (Self::Step, Verdict);

    /// Does what [`State::settle`] said.
    fn apply(&mut self, step: Self::Step);
}

/// The state of a meter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meter {
    /// Of a token bucket, a fixed window or a calendar period.
    Small(SmallMeter),
    /// Of a two-count sliding window.
    Counts(TwoCounts),
    /// Of sliding buckets or a sliding log.
    Timeline(Timeline),
    /// Of a concurrency limit.
    Slots(Slots),
}

/// The state of a meter that is one number and a half, as most are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmallMeter {
    /// Of a token bucket.
    Tat(Tat),
    /// Of a fixed window or a calendar period.
    Count(WindowCount),
}

/// What becomes of a meter: for small states the new state, for large ones what to change in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Of a token bucket, a fixed window or a calendar period.
    Small(SmallMeter),
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

impl SmallMeter {
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

    #[inline]
    fn count(self) -> WindowCount {
        if let Self::Count(count) = self { count } else { WindowCount::default() }
    }
}

impl State for SmallMeter {
    type Step = Self;

    #[inline]
    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment) -> (Self, Verdict) {
        let now = moment.now;
        match rule {
            Rule::TokenBucket(bucket) => {
                let tat = if let Self::Tat(tat) = self { *tat } else { Tat::default() };
                let (tat, verdict) = bucket.settle(tat, ask, now);
                (Self::Tat(tat), verdict)
            }
            Rule::FixedWindow(windowed) => {
                let count = self.count();
                let window = windowed.aligned(now);
                let window =
                    if count.is_ahead_of(window.start) { windowed.starting_at(count.start) } else { window };
                let (count, verdict) = count.settle(window, windowed.limit.get(), ask, now);
                (Self::Count(count), verdict)
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
                (Self::Count(count), verdict)
            }
            Rule::SlidingWindow(_)
            | Rule::SlidingBuckets(_)
            | Rule::SlidingLog(_)
            | Rule::Concurrency { .. } => {
                debug_assert!(false, "meters of this rule are not small");
                (*self, Verdict { answer: Answer::Never, used: 0, next: Nanos::ZERO, reset: Nanos::ZERO })
            }
        }
    }

    #[inline]
    fn apply(&mut self, step: Self) {
        *self = step;
    }
}

impl State for Meter {
    type Step = Step;

    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment) -> (Step, Verdict) {
        let now = moment.now;
        match rule {
            Rule::TokenBucket(_) | Rule::FixedWindow(_) | Rule::Calendar { .. } => {
                let small = match self {
                    Self::Small(small) => *small,
                    Self::Counts(_) | Self::Timeline(_) | Self::Slots(_) => SmallMeter::Tat(Tat::default()),
                };
                let (small, verdict) = small.settle(rule, ask, moment);
                (Step::Small(small), verdict)
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

    fn apply(&mut self, step: Step) {
        match (step, &mut *self) {
            (Step::Small(small), _) => *self = Self::Small(small),
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
}

impl Meter {
    /// A meter that was never used.
    pub fn fresh(rule: &Rule) -> Self {
        match rule {
            Rule::TokenBucket(_) => Self::Small(SmallMeter::Tat(Tat::default())),
            Rule::FixedWindow(_) | Rule::Calendar { .. } => {
                Self::Small(SmallMeter::Count(WindowCount::default()))
            }
            Rule::SlidingWindow(_) => Self::Counts(TwoCounts::default()),
            Rule::SlidingBuckets(_) | Rule::SlidingLog(_) => Self::Timeline(Timeline::default()),
            Rule::Concurrency { .. } => Self::Slots(Slots::default()),
        }
    }

    /// Makes a meter that was last written under `written` ready to be asked under `rule`, and says whether that changed it.
    ///
    /// Such a change comes from an edit of the policy or a step of the clock and not from a request, so it is kept even where
    /// the request is refused.
    pub fn bring_up(&mut self, written: &Rule, rule: &Rule, moment: &Moment) -> Readied {
        let mended =
            if let Self::Small(small) = self { small.mend(written, moment.now) } else { Readied::AsItWas };
        if rule.reads_states_of(written) {
            return mended;
        }
        *self = self.carried_over(written, rule, moment);
        Readied::Changed
    }

    /// The meter under `new`, with the usage it has under `old`.
    fn carried_over(&self, old: &Rule, new: &Rule, moment: &Moment) -> Self {
        if let (Rule::TokenBucket(old), Rule::TokenBucket(new), Self::Small(SmallMeter::Tat(tat))) =
            (old, new, self)
        {
            return Self::Small(SmallMeter::Tat(new.carry_over(old, *tat, moment.now)));
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

    fn on_timeline(&self, rule: &Windowed, grain: Grain, ask: Ask, now: Timestamp) -> (Step, Verdict) {
        let empty = Timeline::default();
        let timeline = if let Self::Timeline(timeline) = self { timeline } else { &empty };
        let (step, verdict) = timeline.settle(rule, grain, ask, now);
        (Step::Timeline(step), verdict)
    }
}
