//! A meter: the state of one limit for one subject, whatever the algorithm.

use crate::calendar::Period;
use crate::overage::OverageBaseline;
use crate::past::PastPeriod;
use crate::period_meter::{PastCount, PeriodMeter, baseline_under, window_of};
use crate::rule::concurrency::{SlotAsk, SlotId, SlotStep, Slots};
use crate::rule::sliding_window::TwoCounts;
use crate::rule::timeline::{Grain, Timeline, TimelineStep};
use crate::rule::token_bucket::Tat;
use crate::rule::window_count::WindowCount;
use crate::rule::{Amount, Answer, Ask, Rule, Verdict, Windowed};
use crate::time::{Nanos, Timestamp};

/// A state that can be asked before it is changed.
pub trait State {
    /// What becomes of it: for small states the new state, for large ones what to change in it.
    type Step: Copy;

    /// What becomes of the meter when `ask` is done under `rule`, and what it says then.
    ///
    /// A state that another algorithm wrote says nothing under this one, as if it were fresh:
    /// [`Meter::bring_up`] is how its usage is kept.
    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> (Self::Step, Verdict);

    /// What the overage of the period of now is counted from. Only a change of the tier or the policy makes one.
    #[inline]
    fn baseline(&self, rule: &Rule, moment: &Moment<'_>) -> OverageBaseline {
        let _ = (rule, moment);
        OverageBaseline::NONE
    }

    /// By how much the overage of a period that is over changes with a step, under a limit that includes so much.
    /// Nothing: the step changes none.
    #[inline]
    fn past_overage_change(&self, step: Self::Step, included: u64) -> Option<u64> {
        let _ = (step, included);
        None
    }

    /// Does what [`State::settle`] said.
    fn apply(&mut self, step: Self::Step);
}

/// What the meters of a limit depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms<'l> {
    /// The algorithm and its numbers.
    pub rule: &'l Rule,
    /// What is included in each period before overage is billed. Nothing: none is billed.
    pub included: Option<Amount>,
    /// Whether the period before the one of now is kept for corrections. Not for rates, and not by versions that did
    /// not say either whether a quota is billed.
    pub keeps_past: bool,
}

impl Terms<'_> {
    /// The terms under which a meter was written that is asked under others now. A version that kept no baseline did
    /// not say whether overage was billed: of the same size, it was.
    #[must_use]
    pub fn written_before(self, now: Terms<'_>) -> Self {
        let has_periods = matches!(self.rule, Rule::FixedWindow(_) | Rule::Calendar { .. });
        let says_nothing = has_periods && self.included.is_none() && !self.keeps_past;
        match now.included {
            Some(included) if says_nothing && self.rule.capacity() == included.get() => {
                Self { included: now.included, ..self }
            }
            _ => self,
        }
    }
}

/// The state of a meter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meter {
    /// Of a token bucket, a fixed window or a calendar period.
    Small(SmallMeter),
    /// Of a fixed window or a calendar period with more to it than its count: the period before it is kept, or the tier
    /// or the policy of a billed quota has changed in it.
    Period(Box<PeriodMeter>),
    /// Of a two-count sliding window.
    Counts(TwoCounts),
    /// Of sliding buckets or a sliding log.
    Timeline(Timeline),
    /// Of a concurrency limit.
    Slots(Slots),
}

/// The state of a meter that is one number and a half, as most are: a [`Tat`] under a token bucket, a
/// [`WindowCount`] under a fixed window or a calendar. Only its rule tells which, so it is never read without
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SmallMeter {
    /// The instant, or the count.
    pub value: u64,
    /// The fraction of the instant, or the start of the count's window.
    pub extra: u32,
}

/// What becomes of a meter: for small states the new state, for large ones what to change in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Of a token bucket, a fixed window or a calendar period.
    Small(SmallMeter),
    /// Of a fixed window or a calendar period that moves on to another.
    Next {
        /// The count in the new one.
        count: SmallMeter,
        /// What is kept of those before.
        past: Option<PastPeriod>,
    },
    /// Of a period that is over: a charge that was made in it is corrected.
    Past {
        /// Which one.
        which: PastCount,
        /// What was used in it.
        count: u64,
    },
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
pub struct Moment<'m> {
    /// The instant.
    pub now: Timestamp,
    /// For a calendar rule, the period of `now`; asked of the calendar when absent.
    pub period: Option<&'m Period>,
    /// The id under which a slot is taken or released.
    pub slot: SlotId,
    /// The instant of the charge that is corrected; where none is, now.
    pub charged_at: Timestamp,
    /// Whether the period before the one of now is kept for corrections.
    pub keeps_past: bool,
}

impl Moment<'_> {
    /// An instant at which nothing is corrected.
    pub const fn at(now: Timestamp) -> Self {
        Moment { now, period: None, slot: SlotId(0), charged_at: now, keeps_past: false }
    }
}

impl From<Tat> for SmallMeter {
    #[inline]
    fn from(tat: Tat) -> Self {
        Self { value: tat.nanos, extra: tat.parts }
    }
}

impl From<WindowCount> for SmallMeter {
    #[inline]
    fn from(count: WindowCount) -> Self {
        Self { value: count.count, extra: count.start }
    }
}

impl SmallMeter {
    /// What the meter is once what a clock that stepped back has left is set right, if there is anything.
    #[inline]
    pub fn mended(self, rule: &Rule, now: Timestamp) -> Option<Self> {
        match rule {
            Rule::TokenBucket(bucket) => bucket.mended(self.tat(), now).map(Self::from),
            _ => None,
        }
    }

    #[inline]
    fn tat(self) -> Tat {
        Tat { nanos: self.value, parts: self.extra }
    }

    #[inline]
    fn count(self) -> WindowCount {
        WindowCount { count: self.value, start: self.extra }
    }

    /// Whether a count is that of the window of now, or of a later one in which a clock that stepped back goes on.
    pub(crate) fn is_current(self, rule: &Rule, moment: &Moment<'_>) -> bool {
        let window = window_of(rule, moment.now, moment.period);
        window.is_some_and(|window| self.extra >= window.start.as_secs())
    }
}

impl State for SmallMeter {
    type Step = Self;

    #[inline(always)]
    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> (Self, Verdict) {
        let (now, count) = (moment.now, self.count());
        let (limit, window) = match rule {
            Rule::TokenBucket(bucket) => {
                let (tat, verdict) = bucket.settle(self.tat(), ask, now);
                return (tat.into(), verdict);
            }
            Rule::Calendar { limit, calendar } => {
                let period = moment.period.copied().unwrap_or_else(|| calendar.period_at(now));
                if count.is_ahead_of(period.start) {
                    (*limit, calendar.period_at(Timestamp::from_secs(count.start)))
                } else {
                    (*limit, period)
                }
            }
            Rule::FixedWindow(windowed) => {
                let window = windowed.aligned(now);
                let ahead = count.is_ahead_of(window.start);
                (windowed.limit, if ahead { windowed.starting_at(count.start) } else { window })
            }
            Rule::SlidingWindow(_)
            | Rule::SlidingBuckets(_)
            | Rule::SlidingLog(_)
            | Rule::Concurrency { .. } => {
                debug_assert!(false, "meters of this rule are not small");
                return (
                    *self,
                    Verdict { answer: Answer::Never, used: 0, next: Nanos::ZERO, reset: Nanos::ZERO },
                );
            }
        };
        let (count, verdict) = count.settle(window, limit.get(), ask, now);
        (count.into(), verdict)
    }

    #[inline]
    fn apply(&mut self, step: Self) {
        *self = step;
    }
}

/// A small meter that was never used: what is left where a meter was moved out.
impl Default for Meter {
    fn default() -> Self {
        Self::Small(SmallMeter::default())
    }
}

impl From<PeriodMeter> for Meter {
    fn from(meter: PeriodMeter) -> Self {
        match meter {
            PeriodMeter { count, baseline: OverageBaseline::NONE, previous: None } => Self::Small(count),
            _ => Self::Period(Box::new(meter)),
        }
    }
}

impl State for Meter {
    type Step = Step;

    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> (Step, Verdict) {
        let now = moment.now;
        match rule {
            Rule::TokenBucket(_) => {
                let small = if let Self::Small(small) = self { *small } else { SmallMeter::default() };
                let (small, verdict) = small.settle(rule, ask, moment);
                (Step::Small(small), verdict)
            }
            Rule::FixedWindow(_) | Rule::Calendar { .. } => self.in_periods().settle(rule, ask, moment),
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
                    Ask::Take(_) | Ask::TakeBeyond { .. } => SlotAsk::Take(moment.slot),
                    Ask::Force(_) | Ask::Drain(_) => SlotAsk::Renew(moment.slot),
                    Ask::Give { .. } => SlotAsk::Release(moment.slot),
                };
                let empty = Slots::default();
                let slots = if let Self::Slots(slots) = self { slots } else { &empty };
                let (step, verdict) = slots.settle(limit.get(), *lease, ask, now);
                (Step::Slots(step), verdict)
            }
        }
    }

    fn baseline(&self, rule: &Rule, moment: &Moment<'_>) -> OverageBaseline {
        match self {
            Self::Period(meter) => meter.baseline_at(rule, moment),
            _ => OverageBaseline::NONE,
        }
    }

    fn past_overage_change(&self, step: Step, included: u64) -> Option<u64> {
        let Step::Past { which, count } = step else { return None };
        Some(self.in_periods().past_overage_change(which, count, included))
    }

    fn apply(&mut self, step: Step) {
        match (step, &mut *self) {
            (Step::Small(small), Self::Period(meter)) if meter.count.extra == small.extra => {
                meter.count = small;
            }
            (Step::Small(small), _) => *self = Self::Small(small),
            (Step::Next { count, past }, _) => {
                *self = PeriodMeter { previous: past, ..PeriodMeter::from(count) }.into();
            }
            (Step::Past { which, count }, _) => *self = self.in_periods().with_past(which, count).into(),
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
            Rule::TokenBucket(_) | Rule::FixedWindow(_) | Rule::Calendar { .. } => {
                Self::Small(SmallMeter::default())
            }
            Rule::SlidingWindow(_) => Self::Counts(TwoCounts::default()),
            Rule::SlidingBuckets(_) | Rule::SlidingLog(_) => Self::Timeline(Timeline::default()),
            Rule::Concurrency { .. } => Self::Slots(Slots::default()),
        }
    }

    /// Makes a meter that was last written under `written` ready to be asked under `terms`, and says whether
    /// that changed it.
    ///
    /// Such a change comes from an edit of the policy, another tier or a step of the clock and not from a request, so
    /// it is kept even where the request is refused.
    pub fn bring_up(&mut self, written: Terms<'_>, terms: Terms<'_>, moment: &Moment<'_>) -> Readied {
        let mut readied = Readied::AsItWas;
        if let Self::Small(small) = self
            && let Some(mended) = small.mended(written.rule, moment.now)
        {
            *small = mended;
            readied = Readied::Changed;
        }
        let (written, reads) = (written.written_before(terms), terms.rule.reads_states_of(written.rule));
        if reads && terms.included == written.included {
            return readied;
        }
        if reads {
            *self = self.in_periods().rebased(written, terms, moment).into();
            return Readied::Changed;
        }
        // What was used is carried over into another window. If nothing was, that has no period yet.
        let baseline = self.baseline_under(written, terms, moment);
        *self = self.carried_over(written.rule, terms.rule, moment);
        if baseline.used > 0 {
            self.rebase(baseline);
        }
        Readied::Changed
    }

    /// What overage is counted from in another window, for a meter that was written under other terms.
    fn baseline_under(&self, written: Terms<'_>, terms: Terms<'_>, moment: &Moment<'_>) -> OverageBaseline {
        let then = Moment { period: None, ..*moment };
        let used = self.settle(written.rule, Ask::Look, &then).1.used;
        baseline_under(self.baseline(written.rule, &then), used, written, terms)
    }

    /// A count as that of a period; of another meter, one that was never used.
    fn in_periods(&self) -> PeriodMeter {
        match self {
            Self::Small(count) => (*count).into(),
            Self::Period(meter) => **meter,
            Self::Counts(_) | Self::Timeline(_) | Self::Slots(_) => SmallMeter::default().into(),
        }
    }

    /// Has the overage of its period counted from there.
    pub fn rebase(&mut self, baseline: OverageBaseline) {
        if let Self::Small(_) | Self::Period(_) = self {
            *self = PeriodMeter { baseline, ..self.in_periods() }.into();
        }
    }

    /// Has the overage of the period of a charge be as much more, or less, whatever the limits say. The limit includes
    /// so much, if it bills.
    pub fn adjust_overage(&mut self, rule: &Rule, moment: &Moment<'_>, included: Option<Amount>, by: i128) {
        let mut meter = self.in_periods();
        meter.adjust_overage(rule, moment, included.map_or(u64::MAX, Amount::get), by);
        *self = meter.into();
    }

    /// Forgets the period before, if it takes no corrections any more.
    pub fn forget_past(&mut self, now: Timestamp) {
        if let Self::Period(meter) = self
            && meter.previous.is_some_and(|past| !past.is_kept_at(now))
        {
            *self = PeriodMeter { previous: None, ..**meter }.into();
        }
    }

    /// How long after `now` a meter that was last written under `terms` has nothing to say any more.
    pub fn reset(&self, terms: Terms<'_>, now: Timestamp) -> Nanos {
        let (rule, moment) = (terms.rule, Moment::at(now));
        let verdict = self.settle(rule, Ask::Look, &moment).1;
        let reset = match self.baseline(rule, &moment) {
            OverageBaseline::NONE => verdict.reset,
            // What was recorded in the period is to be known until it ends, also when all of it was given back.
            _ => verdict.next,
        };
        if terms.keeps_past { reset.max(self.in_periods().kept_for(rule, now)) } else { reset }
    }

    /// When the period begins in which the meter counts, if it counts anything; of a sliding window, when the newest
    /// usage was counted. Buckets and slots have no period.
    pub fn period_start(&self, rule: &Rule) -> Option<Timestamp> {
        match (self, rule) {
            (Self::Small(_) | Self::Period(_), Rule::FixedWindow(_) | Rule::Calendar { .. }) => {
                let PeriodMeter { count, .. } = self.in_periods();
                (count.value > 0).then(|| Timestamp::from_secs(count.extra))
            }
            (Self::Counts(counts), Rule::SlidingWindow(_)) => {
                (counts.current > 0 || counts.previous > 0).then(|| Timestamp::from_secs(counts.start))
            }
            (Self::Timeline(timeline), Rule::SlidingBuckets(rule)) => {
                timeline.newest(rule, Grain::buckets(rule))
            }
            (Self::Timeline(timeline), Rule::SlidingLog(rule)) => timeline.newest(rule, Grain::Instants),
            _ => None,
        }
    }

    /// The meter under `new`, with the usage it has under `old`.
    fn carried_over(&self, old: &Rule, new: &Rule, moment: &Moment<'_>) -> Self {
        if let (Rule::TokenBucket(old), Rule::TokenBucket(new), Self::Small(small)) = (old, new, self) {
            return Self::Small(new.carry_over(old, small.tat(), moment.now).into());
        }
        let mut carried = Self::fresh(new);
        let slots_on_either_side =
            matches!(old, Rule::Concurrency { .. }) || matches!(new, Rule::Concurrency { .. });
        // The old period, if there was one, is not the new one's.
        let (_, verdict) = self.settle(old, Ask::Look, &Moment { period: None, ..*moment });
        if verdict.used > 0 && !slots_on_either_side {
            let (step, _) = carried.settle(new, Ask::Drain(verdict.used), moment);
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
