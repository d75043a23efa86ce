//! What one account owes, by the rules of docs/algorithms.md and nothing else: sums of what requests cost, by period.

use std::collections::BTreeMap;

/// How long after its end a period takes corrections.
const KEPT_FOR_S: u64 = 48 * 3_600;

/// The usage of one period of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    /// What the meter counts in it.
    pub(crate) used: u64,
    /// What the plan of the last call includes. Nothing: it bills nothing.
    included: Option<u64>,
    /// The overage that was recorded before the last change of `included`, and what was used then.
    recorded: u64,
    used_at_change: u64,
    /// By how much the ledger, which has everything in the period of its charge, says more that was used and over:
    /// corrections that came too late for the meter of the period.
    late: (i64, i64),
}

impl Period {
    pub(crate) fn overage(&self) -> u64 {
        let billed_from = |included: u64| included.max(self.used_at_change);
        self.recorded + self.included.map_or(0, |included| self.used.saturating_sub(billed_from(included)))
    }

    /// What the ledger says that was used and over.
    fn recorded_totals(&self) -> (u64, u64) {
        let (used, over) = self.late;
        (self.used.checked_add_signed(used).unwrap(), self.overage().checked_add_signed(over).unwrap())
    }

    /// From now on, so much is included.
    fn change_included(&mut self, included: Option<u64>) {
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
    /// The period in which something was charged last, and the one before it in which something was used.
    last: Option<u64>,
    previous: Option<u64>,
}

/// What a request turned out to cost more or less, after the period of its charge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateEnd {
    /// When the period of the charge began and ended.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The instant, and when its period began. The plan of now includes so much.
    pub(crate) now: u64,
    pub(crate) start_now: u64,
    pub(crate) included: Option<u64>,
    /// How much more it cost.
    pub(crate) more: i64,
}

impl Statement {
    /// The period that begins then, in which something is charged or corrected. The plan in force includes so much.
    pub(crate) fn period(&mut self, start: u64, included: Option<u64>) -> &mut Period {
        if self.last != Some(start) {
            let says_something = |start: &u64| self.totals(*start) != (0, 0);
            self.previous = self.last.filter(says_something).or(self.previous);
            self.last = Some(start);
        }
        let period = self.periods.entry(start).or_insert(Period { included, ..Period::default() });
        period.change_included(included);
        period
    }

    /// The store has seen that a plan which includes so much is in force, in the period that begins then. A change
    /// that it sees after the end of a period leaves that as it was.
    pub(crate) fn notice(&mut self, start: u64, included: Option<u64>) {
        let last = self.last.and_then(|last| self.periods.get(&last));
        if last.is_some_and(|last| last.included != included) {
            self.period(start, included);
        }
    }

    /// A request has ended after the period of its charge. That takes it as its last call left it, if it is one of the
    /// last two in which something was used and not over for long; a later change of the plan does not concern it.
    /// Otherwise an excess counts now, and nothing is given back.
    pub(crate) fn end_late(&mut self, end: LateEnd) {
        let LateEnd { start, more, .. } = end;
        let is_known = [self.last, self.previous].contains(&Some(start)) && self.totals(start) != (0, 0);
        if is_known && end.now < end.end + KEPT_FOR_S {
            let period = self.periods.entry(start).or_default();
            period.used = period.used.checked_add_signed(more).unwrap();
            return;
        }
        let (mut over, excess) = (0, u64::try_from(more).unwrap_or(0));
        if excess > 0 {
            let now = self.period(end.start_now, end.included);
            let before = now.overage();
            now.used += excess;
            over = (now.overage() - before).cast_signed();
            now.late = (now.late.0 - more, now.late.1 - over);
        }
        let period = self.periods.entry(start).or_default();
        period.late = (period.late.0 + more, period.late.1 + over);
    }

    /// What was used and what was over in the period that begins then.
    pub(crate) fn totals(&self, start: u64) -> (u64, u64) {
        self.periods.get(&start).map_or((0, 0), |period| (period.used, period.overage()))
    }

    /// What the ledger says that was used and over, by the period of the charge.
    pub(crate) fn all(&self) -> BTreeMap<u64, (u64, u64)> {
        let totals = self.periods.iter().map(|(start, period)| (*start, period.recorded_totals()));
        totals.filter(|(_, totals)| *totals != (0, 0)).collect()
    }
}

/// The rate of an account over what its requests cost in the end: `burst + amount × length` in every interval that
/// ends with an admission.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLog {
    events: Vec<RateEvent>,
}

/// Something that was charged. An excess counts when it is charged.
#[derive(Clone, Copy, Debug)]
struct RateEvent {
    /// The nanoseconds between which it happened.
    between: (u64, u64),
    cost: u64,
    is_admission: bool,
}

impl RateLog {
    /// A request was admitted between these nanoseconds. Its number is for [`RateLog::lower`].
    pub(crate) fn admit(&mut self, between: (u64, u64), cost: u64) -> usize {
        self.events.push(RateEvent { between, cost, is_admission: true });
        self.events.len() - 1
    }

    /// A request cost so much more than was reserved.
    pub(crate) fn exceed(&mut self, between: (u64, u64), excess: u64) {
        self.events.push(RateEvent { between, cost: excess, is_admission: false });
    }

    /// A request cost only so much.
    pub(crate) fn lower(&mut self, number: usize, cost: u64) {
        self.events[number].cost = cost;
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }

    /// Checks every interval that ends with an admission, and says how many there are. The first that exceeds the bound
    /// is an error: from, to, how much.
    pub(crate) fn check(&self, burst: u64, per_second: u64) -> Result<u64, (u64, u64, u64)> {
        let mut checked = 0;
        for (first, RateEvent { between: (from, _), .. }) in self.events.iter().enumerate() {
            let mut total = 0;
            for RateEvent { between: (_, to), cost, is_admission } in &self.events[first..] {
                total += cost;
                let earned = u128::from(to - from) * u128::from(per_second) / 1_000_000_000;
                if *is_admission && u128::from(total) > u128::from(burst) + earned {
                    return Err((*from, *to, total));
                }
                checked += u64::from(*is_admission);
            }
        }
        Ok(checked)
    }
}
