//! A caller above 90 % of its rate limit in each of 5 consecutive minutes.
//!
//! A minute counts when what was admitted in it, in units, is more than 90 % of what the rate admits in a minute: its
//! amount times sixty seconds, by its window. At exactly 90 % it does not. Minutes are those of the clock. It fires
//! at the end of the fifth such minute in a row, and is resolved at the end of the first that does not count.
//!
//! Every limit on the axis of rates whose window is an hour or shorter is looked at, for whoever has a meter of it: a
//! key, an account or a client. Only callers that are above are remembered.

use std::collections::BTreeMap;

use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::plan::HomeId;
use sluicegate_core::rule::Rule;

/// How many minutes in a row.
const MINUTES: u32 = 5;
/// More than so much of it, in percent.
const PERCENT: u32 = 90;
/// A rate of a longer window is a quota by another name.
const WINDOW_S_MAX: u32 = 3_600;
/// How many callers are remembered. Of more, those come first that were remembered before.
const HOT_MAX: usize = 10_000;
/// How many of them fire at the most: people have heard by then.
const FIRING_MAX: usize = 1_000;

/// What a rate admits: an amount in so many seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pace {
    pub(super) amount: u64,
    pub(super) window_s: u32,
}

impl Pace {
    /// That of a limit; nothing for what is no rate.
    pub(super) fn of(limit: &Limit) -> Option<Self> {
        let (amount, window) = match &limit.rule {
            Rule::TokenBucket(bucket) => (bucket.amount(), bucket.window()),
            Rule::FixedWindow(rule)
            | Rule::SlidingWindow(rule)
            | Rule::SlidingBuckets(rule)
            | Rule::SlidingLog(rule) => (rule.limit.get(), rule.window),
            Rule::Calendar { .. } | Rule::Concurrency { .. } => return None,
        };
        let window_s = window.as_secs();
        (limit.axis == Axis::Rate && window_s <= WINDOW_S_MAX).then_some(Self { amount, window_s })
    }

    /// What it admits in a minute, rounded down.
    pub(super) fn per_minute(self) -> u64 {
        u64::try_from(u128::from(self.amount) * 60 / u128::from(self.window_s.max(1))).unwrap_or(u64::MAX)
    }

    /// Whether more than so many percent of what it admits in a minute were used.
    pub(super) fn is_exceeded(self, used: u64, percent: u32) -> bool {
        let admitted = u128::from(self.amount) * 60 * u128::from(percent);
        u128::from(used) * u128::from(self.window_s) * 100 > admitted
    }
}

/// Whose rate.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RateMeter {
    pub(super) home: HomeId,
    /// The number of the key whose own it is; 0: all share it.
    pub(super) sharer: u32,
    pub(super) limit: String,
    /// The serial of the account; 0: a client without a key.
    pub(super) account: u64,
    /// The serial of the key whose own it is; 0: all share it.
    pub(super) key: u64,
    pub(super) pace: Pace,
}

impl RateMeter {
    /// What its alert goes by. The numbers of the limit are not in it: with others it is still the same caller's.
    pub(super) fn subject(&self) -> String {
        format!("caller.rate {:032x} {} {}", self.home.0, self.sharer, self.limit)
    }
}

/// Rates, and what was used of each.
pub(super) type RatesUsed = Vec<(RateMeter, u64)>;

/// The rule, with what it remembers.
#[derive(Debug, Default)]
pub(super) struct CallerRate {
    /// Callers that are above, by the subjects of their alerts.
    hot: BTreeMap<String, Hot>,
    last: Option<u64>,
}

#[derive(Debug)]
struct Hot {
    /// How many minutes in a row.
    minutes: u32,
    /// What it was when it began to fire, or was last looked at; nothing for what fired before a restart.
    usage: Option<(RateMeter, u64)>,
}

impl CallerRate {
    /// Goes on with what was firing when the last process ended.
    pub(super) fn restore(&mut self, subject: String) {
        self.hot.insert(subject, Hot { minutes: MINUTES, usage: None });
    }

    /// A minute has ended, in which this was used. Minutes come in order; in those that are left out nobody looked.
    pub(super) fn minute(&mut self, minute: u64, used: impl IntoIterator<Item = (RateMeter, u64)>) {
        let is_next = self.last.is_none_or(|last| last + 1 == minute);
        self.last = Some(minute);
        let mut before = std::mem::take(&mut self.hot);
        let mut new = Vec::new();
        let mut room =
            FIRING_MAX.saturating_sub(before.values().filter(|hot| hot.minutes >= MINUTES).count());
        for (meter, used) in used.into_iter().filter(|(meter, used)| meter.pace.is_exceeded(*used, PERCENT)) {
            let subject = meter.subject();
            match before.remove(&subject) {
                Some(hot) if hot.minutes >= MINUTES => drop(self.hot.insert(subject, hot)),
                Some(hot) if is_next => {
                    let fires = hot.minutes + 1 >= MINUTES && room > 0;
                    room -= usize::from(fires);
                    let minutes = if fires { MINUTES } else { (hot.minutes + 1).min(MINUTES - 1) };
                    self.hot.insert(subject, Hot { minutes, usage: Some((meter, used)) });
                }
                _ => new.push((subject, Hot { minutes: 1, usage: Some((meter, used)) })),
            }
        }
        let room = HOT_MAX.saturating_sub(self.hot.len());
        self.hot.extend(new.into_iter().take(room));
    }

    /// What fires: subjects, and where it began in this process what was used in the minute in which it did.
    pub(super) fn firing(&self) -> impl Iterator<Item = (&String, Option<&(RateMeter, u64)>)> {
        let firing = self.hot.iter().filter(|(_, hot)| hot.minutes >= MINUTES);
        firing.map(|(subject, hot)| (subject, hot.usage.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: [u64; 0] = [];

    fn meter(home: u128) -> RateMeter {
        // 10 a second: 600 a minute.
        let pace = Pace { amount: 10, window_s: 1 };
        RateMeter { home: HomeId(home), sharer: 1, limit: "rate".to_owned(), account: 7, key: 3, pace }
    }

    fn firing(rule: &CallerRate) -> Vec<u64> {
        rule.firing().map(|(_, usage)| usage.map_or(0, |(_, used)| *used)).collect()
    }

    /// What fires after minutes in which so much was used of 600.
    fn after(minutes: &[u64]) -> CallerRate {
        let mut rule = CallerRate::default();
        for (minute, used) in (1..).zip(minutes) {
            rule.minute(minute, [(meter(1), *used)]);
        }
        rule
    }

    #[test]
    fn five_minutes_above_ninety_percent_fire_and_four_do_not() {
        assert_eq!(firing(&after(&[541; 4])), NOBODY);
        assert_eq!(firing(&after(&[541; 5])), [541]);
        assert_eq!(firing(&after(&[600, 541, 700, 99_999, 542])), [542]);
    }

    #[test]
    fn exactly_ninety_percent_is_not_above_it() {
        assert_eq!(firing(&after(&[540; 9])), NOBODY);
        assert_eq!(firing(&after(&[541, 541, 540, 541, 541])), NOBODY);
        assert_eq!(firing(&after(&[541, 541, 541, 541, 540])), NOBODY);
    }

    #[test]
    fn a_minute_without_it_starts_the_count_anew() {
        assert_eq!(firing(&after(&[600, 600, 600, 600, 0, 600, 600, 600, 600])), NOBODY);
        assert_eq!(firing(&after(&[600, 600, 600, 600, 0, 600, 600, 600, 600, 600])), [600]);
    }

    #[test]
    fn it_fires_on_until_a_minute_that_does_not_count_and_then_again_after_five() {
        let mut rule = after(&[600; 5]);
        for minute in 6..20 {
            rule.minute(minute, [(meter(1), 555)]);
            assert_eq!(firing(&rule), [600], "what people have heard");
        }
        rule.minute(20, [(meter(1), 540)]);
        assert_eq!(firing(&rule), NOBODY);
        for minute in 21..=24 {
            rule.minute(minute, [(meter(1), 600)]);
            assert_eq!(firing(&rule), NOBODY);
        }
        rule.minute(25, [(meter(1), 600)]);
        assert_eq!(firing(&rule), [600]);
        // Nobody has to be seen to be below.
        rule.minute(26, []);
        assert_eq!(firing(&rule), NOBODY);
    }

    #[test]
    fn minutes_in_which_nobody_looked_are_not_consecutive_and_end_nothing() {
        let mut rule = after(&[600; 4]);
        rule.minute(6, [(meter(1), 600)]);
        assert_eq!(firing(&rule), NOBODY);
        let mut rule = after(&[600; 5]);
        rule.minute(9, [(meter(1), 600)]);
        assert_eq!(firing(&rule), [600]);
    }

    #[test]
    fn callers_keys_and_limits_are_counted_each_for_itself() {
        let mut rule = CallerRate::default();
        let other_limit = RateMeter { limit: "searches".to_owned(), ..meter(1) };
        let other_key = RateMeter { sharer: 2, ..meter(1) };
        for minute in 1..=5 {
            let last = if minute == 5 { 0 } else { 600 };
            let used =
                [(meter(1), 600), (meter(2), last), (other_limit.clone(), 600), (other_key.clone(), last)];
            rule.minute(minute, used);
        }
        let subjects: Vec<&String> = rule.firing().map(|(subject, _)| subject).collect();
        assert_eq!(subjects, [&meter(1).subject(), &other_limit.subject()]);
    }

    #[test]
    fn after_a_restart_it_fires_on_and_is_resolved_by_the_first_minute_below() {
        let mut rule = CallerRate::default();
        rule.restore(meter(1).subject());
        rule.minute(100, [(meter(1), 600)]);
        assert_eq!(rule.firing().count(), 1);
        rule.minute(101, [(meter(1), 1)]);
        assert_eq!(rule.firing().count(), 0);
    }

    #[test]
    fn ninety_percent_is_of_what_the_window_admits_in_a_minute() {
        let pace = |amount, window_s| Pace { amount, window_s };
        let above = |pace: Pace, used| pace.is_exceeded(used, PERCENT);
        assert!(above(pace(100, 60), 91) && !above(pace(100, 60), 90));
        assert!(above(pace(1_000, 3_600), 16) && !above(pace(1_000, 3_600), 15));
        assert!(above(pace(5, 10), 28) && !above(pace(5, 10), 27));
        assert_eq!((pace(1_000, 3_600).per_minute(), pace(5, 10).per_minute()), (16, 30));
        assert!(above(pace(u64::MAX, 1), u64::MAX) == (60 * 90 < 100));
    }

    #[test]
    fn more_callers_than_are_remembered_are_left_out_and_those_known_stay() {
        let mut rule = CallerRate::default();
        let all = |from: u128| (from..from + HOT_MAX as u128).map(|home| (meter(home), 600));
        rule.minute(1, all(0));
        rule.minute(2, all(5).chain(all(100_000)));
        assert_eq!(rule.hot.len(), HOT_MAX);
        assert_eq!(rule.hot[&meter(5).subject()].minutes, 2);
        (3..9).for_each(|minute| rule.minute(minute, all(5)));
        assert_eq!(rule.firing().count(), FIRING_MAX);
    }
}
