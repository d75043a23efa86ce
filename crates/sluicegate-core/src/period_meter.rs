//! A count per period: the one that the meter is in, and the one before while it takes corrections.

use crate::calendar::Period;
use crate::meter::{Moment, SmallMeter, State, Step, Terms};
use crate::overage::OverageBaseline;
use crate::past::{PastPeriod, is_kept, kept_for};
use crate::rule::{Amount, Ask, Rule, Verdict, count_up};
use crate::time::{Nanos, Timestamp};

/// The meter of a fixed window or a calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeriodMeter {
    /// The count and the start of its period.
    pub count: SmallMeter,
    /// What overage in that period is counted from.
    pub baseline: OverageBaseline,
    /// The period before it, if anything was used in that.
    pub previous: Option<PastPeriod>,
}

/// Which count of a meter is of a period that is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PastCount {
    /// The one that the meter is in: nothing was charged since.
    Held,
    /// The one before.
    Previous,
}

impl From<SmallMeter> for PeriodMeter {
    fn from(count: SmallMeter) -> Self {
        Self { count, baseline: OverageBaseline::NONE, previous: None }
    }
}

impl PeriodMeter {
    /// What becomes of the meter when `ask` is done, and what it says then of the period of now.
    pub(crate) fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> (Step, Verdict) {
        if !moment.keeps_past {
            let (count, verdict) = self.count.settle(rule, ask, moment);
            return (Step::Small(count), verdict);
        }
        if let Some(step) = self.corrected(rule, ask, moment) {
            return (step, self.count.settle(rule, Ask::Look, moment).1);
        }
        let (count, verdict) = self.count.settle(rule, ask, moment);
        let step = match count.extra == self.count.extra {
            true => Step::Small(count),
            false => Step::Next { count, past: self.closed(rule, moment.now) },
        };
        (step, verdict)
    }

    /// What the overage of the period of now is counted from.
    pub fn baseline_at(&self, rule: &Rule, moment: &Moment<'_>) -> OverageBaseline {
        if self.count.is_current(rule, moment) { self.baseline } else { OverageBaseline::NONE }
    }

    /// A correction of a charge that was made in a period before the one of now. Nothing: it is none, or that period
    /// takes none any more.
    fn corrected(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> Option<Step> {
        let which = self.past_count(rule, moment)?;
        let (count, says_something) = match (which, &self.previous) {
            (PastCount::Previous, Some(past)) => (past.count, past.says_something()),
            _ => (self.count.value, self.says_something()),
        };
        if !says_something {
            return None;
        }
        let count = match ask {
            Ask::Force(cost) => count_up(count, cost),
            Ask::Give { cost, .. } => count.saturating_sub(cost),
            Ask::Look | Ask::Take(_) | Ask::TakeBeyond { .. } | Ask::Drain(_) => return None,
        };
        Some(Step::Past { which, count })
    }

    /// Which count is that of the charge which is corrected, if that was made in a period that is over and kept.
    fn past_count(&self, rule: &Rule, moment: &Moment<'_>) -> Option<PastCount> {
        let start = window_of(rule, moment.now, moment.period)?.start;
        let start = start.max(Timestamp::from_secs(self.count.extra));
        // What is charged now belongs to the period that the meter is in, also while a clock that stepped back is
        // behind it.
        if moment.charged_at >= start || moment.charged_at >= moment.now {
            return None;
        }
        let period = window_of(rule, moment.charged_at, None)?;
        let is_previous = |past: PastPeriod| past.end == period.end.as_secs();
        match is_kept(period.end, moment.now) {
            true if self.count.extra == period.start.as_secs() => Some(PastCount::Held),
            true if self.previous.is_some_and(is_previous) => Some(PastCount::Previous),
            _ => None,
        }
    }

    /// What the previous period is when the meter moves on.
    fn closed(&self, rule: &Rule, now: Timestamp) -> Option<PastPeriod> {
        if !self.says_something() {
            return self.previous.filter(|past| past.is_kept_at(now));
        }
        let end = self.end(rule)?.as_secs();
        let past = PastPeriod { count: self.count.value, end, baseline: self.baseline, included: None };
        Some(past).filter(|past| past.is_kept_at(now))
    }

    /// By how much the overage of a period that is over changes with a step, under a limit that includes so much.
    pub(crate) fn past_overage_change(&self, which: PastCount, count: u64, included: u64) -> u64 {
        let (before, after) = match (which, &self.previous) {
            (PastCount::Held, _) => {
                (self.baseline.overage(included, self.count.value), self.baseline.overage(included, count))
            }
            (PastCount::Previous, Some(past)) => {
                (past.overage(included, past.count), past.overage(included, count))
            }
            (PastCount::Previous, None) => (0, 0),
        };
        before.abs_diff(after)
    }

    /// The meter with the other count in a period that is over.
    pub(crate) fn with_past(mut self, which: PastCount, count: u64) -> Self {
        match (which, &mut self.previous) {
            (PastCount::Held, _) => self.count.value = count,
            (PastCount::Previous, Some(past)) => past.count = count,
            (PastCount::Previous, None) => {}
        }
        self
    }

    /// The meter under a limit that has the same periods and includes something else. A period that is over stays as it
    /// was: it becomes the previous one.
    pub(crate) fn rebased(&self, written: Terms<'_>, terms: Terms<'_>, moment: &Moment<'_>) -> Self {
        let kept = |past: PastPeriod| past.apart_from(written.included);
        if terms.keeps_past
            && !self.count.is_current(terms.rule, moment)
            && let Some(now) = window_of(terms.rule, moment.now, moment.period)
        {
            let count = SmallMeter { value: 0, extra: now.start.as_secs() };
            let previous = self.closed(written.rule, moment.now).map(kept);
            return Self { count, baseline: OverageBaseline::NONE, previous };
        }
        let baseline = baseline_under(self.baseline, self.count.value, written, terms);
        Self { baseline, previous: self.previous.map(kept), ..*self }
    }

    /// Has the overage of the period of a charge be as much more, or less.
    pub fn adjust_overage(&mut self, rule: &Rule, moment: &Moment<'_>, included: u64, by: i128) {
        let adjusted = |overage: u64| {
            let overage = (i128::from(overage) + by).max(0);
            u64::try_from(overage).unwrap_or(u64::MAX).min(Amount::MAX)
        };
        match (self.past_count(rule, moment), &mut self.previous) {
            (Some(PastCount::Previous), Some(past)) => {
                let (used, included) = (past.count, past.included.unwrap_or(included));
                let recorded = adjusted(past.baseline.overage(included, used));
                past.baseline = OverageBaseline { recorded, used }.for_included(included);
            }
            _ => {
                let used = self.count.value;
                let recorded = adjusted(self.baseline.overage(included, used));
                self.baseline = OverageBaseline { recorded, used }.for_included(included);
            }
        }
    }

    /// How long after `now` its counts take corrections.
    pub(crate) fn kept_for(&self, rule: &Rule, now: Timestamp) -> Nanos {
        let held = self.end(rule).filter(|_| self.says_something()).map(|end| kept_for(end, now));
        let past = self.previous.filter(PastPeriod::says_something);
        let past = past.map(|past| kept_for(Timestamp::from_secs(past.end), now));
        held.max(past).unwrap_or(Nanos::ZERO)
    }

    /// The end of the period that the meter is in.
    fn end(&self, rule: &Rule) -> Option<Timestamp> {
        window_of(rule, Timestamp::from_secs(self.count.extra), None).map(|period| period.end)
    }

    /// Whether anything was used or recorded in the period that the meter is in.
    const fn says_something(&self) -> bool {
        self.count.value > 0 || self.baseline.recorded > 0
    }
}

/// What overage is counted from after a change of the terms at which so much was used. What was recorded outlasts terms
/// under which nothing is billed, as long as there are periods.
pub(crate) fn baseline_under(
    baseline: OverageBaseline,
    used: u64,
    written: Terms<'_>,
    terms: Terms<'_>,
) -> OverageBaseline {
    if !terms.keeps_past {
        return OverageBaseline::NONE;
    }
    let (before, included) = (included_of(written), included_of(terms));
    OverageBaseline { recorded: baseline.overage(before, used), used }.for_included(included)
}

/// What terms include in each period; without a bill, everything.
fn included_of(terms: Terms<'_>) -> u64 {
    terms.included.map_or(u64::MAX, Amount::get)
}

/// The period of an instant, which may be known already.
pub(crate) fn window_of(rule: &Rule, at: Timestamp, known: Option<&Period>) -> Option<Period> {
    match rule {
        Rule::FixedWindow(windowed) => Some(windowed.aligned(at)),
        Rule::Calendar { calendar, .. } => Some(known.copied().unwrap_or_else(|| calendar.period_at(at))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;
    use crate::rule::Windowed;
    use crate::time::Window;

    const RULE: Rule = Rule::FixedWindow(Windowed { limit: Amount::new(10).unwrap(), window: Window::HOUR });
    const HOUR: u32 = 3_600;

    fn ask(meter: &mut Meter, ask: Ask, charged_at: u32, now: u32) -> (u64, Option<u64>) {
        let (charged_at, now) = (Timestamp::from_secs(charged_at), Timestamp::from_secs(now));
        let moment = Moment { charged_at, keeps_past: true, ..Moment::at(now) };
        let (step, verdict) = meter.settle(&RULE, ask, &moment);
        let change = meter.past_overage_change(step, 10);
        meter.apply(step);
        (verdict.used, change)
    }

    #[test]
    fn a_correction_changes_the_period_of_its_charge_and_not_that_of_now() {
        let mut meter = Meter::fresh(&RULE);
        assert_eq!(ask(&mut meter, Ask::Force(8), HOUR, HOUR), (8, None));
        // Nothing was charged since: the meter is still in that period.
        assert_eq!(ask(&mut meter, Ask::Force(5), HOUR, 2 * HOUR), (0, Some(3)));
        assert_eq!(ask(&mut meter, Ask::Force(1), 2 * HOUR, 2 * HOUR), (1, None));
        assert_eq!(ask(&mut meter, Ask::Force(2), HOUR, 2 * HOUR), (1, Some(2)));
        let give = Ask::Give { cost: 8, reserved: 8, charged_at: Timestamp::from_secs(HOUR) };
        assert_eq!(ask(&mut meter, give, HOUR, 2 * HOUR), (1, Some(5)));
        // Of periods before that nothing is known, and after two days nothing is taken.
        assert_eq!(ask(&mut meter, Ask::Force(1), 0, 2 * HOUR), (2, None));
        assert_eq!(ask(&mut meter, Ask::Force(1), HOUR, 50 * HOUR), (1, None));
    }

    #[test]
    fn another_amount_that_is_included_changes_no_period_that_is_over() {
        let terms = |amount| Terms { rule: &RULE, included: Amount::new(amount), keeps_past: true };
        let mut meter = Meter::fresh(&RULE);
        ask(&mut meter, Ask::Force(8), HOUR, HOUR);
        ask(&mut meter, Ask::Force(1), 2 * HOUR, 2 * HOUR);
        let _ = meter.bring_up(terms(10), terms(3), &Moment::at(Timestamp::from_secs(2 * HOUR)));
        // 10 were included in it.
        assert_eq!(ask(&mut meter, Ask::Force(5), HOUR, 2 * HOUR), (1, Some(3)));
    }

    #[test]
    fn what_was_recorded_outlasts_terms_that_bill_nothing() {
        let terms = |included| Terms { rule: &RULE, included, keeps_past: true };
        let (billed, hard) = (terms(Amount::new(10)), terms(None));
        let moment = Moment { keeps_past: true, ..Moment::at(Timestamp::from_secs(HOUR)) };
        let mut meter = Meter::fresh(&RULE);
        ask(&mut meter, Ask::Force(60), HOUR, HOUR);
        let _ = meter.bring_up(billed, hard, &moment);
        ask(&mut meter, Ask::Force(3), HOUR, HOUR);
        let _ = meter.bring_up(hard, billed, &moment);
        assert_eq!(meter.baseline(&RULE, &moment), OverageBaseline { recorded: 50, used: 63 });
    }

    #[test]
    fn a_change_after_the_period_leaves_it_as_it_was() {
        let terms = |included| Terms { rule: &RULE, included, keeps_past: true };
        for after in [None, Amount::new(3)] {
            let mut meter = Meter::fresh(&RULE);
            ask(&mut meter, Ask::Force(8), HOUR, HOUR);
            let moment = Moment::at(Timestamp::from_secs(2 * HOUR));
            let _ = meter.bring_up(terms(Amount::new(10)), terms(after), &moment);
            assert_eq!(ask(&mut meter, Ask::Force(5), HOUR, 2 * HOUR), (0, Some(3)));
        }
    }

    #[test]
    fn it_is_kept_until_two_days_after_its_end() {
        let mut meter = Meter::fresh(&RULE);
        ask(&mut meter, Ask::Force(8), HOUR, HOUR);
        let terms = |keeps_past| Terms { rule: &RULE, included: None, keeps_past };
        let reset = |keeps_past| meter.reset(terms(keeps_past), Timestamp::from_secs(HOUR));
        assert_eq!((reset(false), reset(true)), (Nanos::from_secs(3_600), Nanos::from_secs(49 * 3_600)));
    }
}
