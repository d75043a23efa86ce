//! What one account owes, by the rules of docs/algorithms.md and nothing else: sums of what requests cost, by period.

use std::collections::BTreeMap;

/// The usage of one period of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) used: u64,
    /// What the plan of the last call includes.
    included: u64,
    /// The overage that was recorded before the last change of `included`, and what was used then.
    recorded: u64,
    used_at_change: u64,
}

impl Period {
    pub(crate) fn overage(&self) -> u64 {
        self.recorded + self.used.saturating_sub(self.included.max(self.used_at_change))
    }

    /// From now on, so much is included.
    fn change_included(&mut self, included: u64) {
        if self.included != included {
            (self.recorded, self.used_at_change) = (self.overage(), self.used);
            self.included = included;
        }
    }
}

/// All periods of an account, by the second in which they begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement {
    periods: BTreeMap<u64, Period>,
}

impl Statement {
    /// The period that begins then. A plan that includes so much is in force.
    pub(crate) fn period(&mut self, start: u64, included: u64) -> &mut Period {
        let period = self.periods.entry(start).or_insert(Period { included, ..Period::default() });
        period.change_included(included);
        period
    }

    /// The period that begins then, as its last call left it. A later change of the plan does not concern it.
    pub(crate) fn closed_period(&mut self, start: u64) -> &mut Period {
        self.periods.entry(start).or_default()
    }

    /// What was used and what was over in the period that begins then.
    pub(crate) fn totals(&self, start: u64) -> (u64, u64) {
        self.periods.get(&start).map_or((0, 0), |period| (period.used, period.overage()))
    }

    /// What was used and what was over, by the period that it counts in.
    pub(crate) fn all(&self) -> BTreeMap<u64, (u64, u64)> {
        let used = self.periods.iter().filter(|(_, period)| period.used > 0 || period.overage() > 0);
        used.map(|(start, period)| (*start, (period.used, period.overage()))).collect()
    }
}

/// The rate of an account over what its requests cost in the end: `burst + amount × length` in every interval that
/// ends with an admission.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLog {
    /// When, how much, and whether it was an admission. An excess counts when it was charged.
    events: Vec<(u64, u64, bool)>,
}

impl RateLog {
    /// A request was admitted at this nanosecond. Its number is for [`RateLog::lower`].
    pub(crate) fn admit(&mut self, at_ns: u64, cost: u64) -> usize {
        self.events.push((at_ns, cost, true));
        self.events.len() - 1
    }

    /// A request cost so much more than was reserved.
    pub(crate) fn exceed(&mut self, at_ns: u64, excess: u64) {
        self.events.push((at_ns, excess, false));
    }

    /// A request cost only so much.
    pub(crate) fn lower(&mut self, number: usize, cost: u64) {
        self.events[number].1 = cost;
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }

    /// The interval that exceeds the bound, if there is one: from, to, how much.
    pub(crate) fn violation(&self, burst: u64, per_second: u64) -> Option<(u64, u64, u64)> {
        for (first, (from, ..)) in self.events.iter().enumerate() {
            let mut total = 0;
            for (to, cost, admitted) in &self.events[first..] {
                total += cost;
                let earned = u128::from(to - from) * u128::from(per_second) / 1_000_000_000;
                if *admitted && u128::from(total) > u128::from(burst) + earned {
                    return Some((*from, *to, total));
                }
            }
        }
        None
    }
}
