//! Who sends most, and who is refused most: the Space-Saving algorithm over the last one to two minutes.
//!
//! A summary keeps a fixed number of callers. A newcomer takes the place of the smallest and inherits its count, which
//! is how much its own may be too large then. So a count is never too small, and too large by at most the weight of all
//! requests of the minute divided by the number of places. Busy engines do not look at every request but at one in so
//! many, which then counts for as many: that adds an error of its own, of which three standard deviations are allowed
//! for.

use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::AccountId;

use crate::identify::ClientId;

/// How many callers a summary keeps.
const PLACES: usize = 256;

/// How long a summary is added to before the next one begins.
const MINUTE_S: u32 = 60;

/// A caller, as people know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Caller {
    /// One with a key.
    Account(AccountId),
    /// One without.
    Client(ClientId),
}

/// One of those that send or are refused most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopCaller {
    /// Who.
    pub caller: Caller,
    /// Its tier, when it was last looked at.
    pub tier: Option<TierName>,
    /// How often, about.
    pub count: u64,
    /// By how much that may be wrong.
    pub error: u64,
}

/// Those that send or are refused most, and since when that was counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Top {
    /// Since when.
    pub since: Timestamp,
    /// The most first.
    pub callers: Vec<TopCaller>,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopBy {
    /// Requests.
    Requests,
    /// Those that were refused.
    Refusals,
}

/// Who sends most in this minute and in the one before.
#[derive(Debug)]
pub(crate) struct Minutes {
    began: Timestamp,
    now: Summary,
    before: Summary,
    /// When the one before began.
    since: Timestamp,
}

#[derive(Debug, Default)]
struct Summary {
    /// What tells callers apart, beside them: looked through for each request.
    homes: Vec<u128>,
    places: Vec<Place>,
}

#[derive(Clone, Debug)]
struct Place {
    caller: Caller,
    tier: Option<TierName>,
    count: u64,
    /// How much of the count may be others'.
    inherited: u64,
    /// What one request that was looked at has stood for, at the most.
    weight: u64,
}

impl Minutes {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { began: now, now: Summary::default(), before: Summary::default(), since: now }
    }

    /// Counts a request of the caller with this home.
    pub(crate) fn add(
        &mut self,
        home: u128,
        caller: impl FnOnce() -> Caller,
        tier: Option<&TierName>,
        weight: u64,
        now: Timestamp,
    ) {
        self.turn(now);
        self.now.add(home, caller, tier, weight);
    }

    /// Those with the most, `max` of them.
    pub(crate) fn top(&mut self, max: usize, now: Timestamp) -> Top {
        self.turn(now);
        let (now, before) = (&self.now, &self.before);
        let mut callers: Vec<TopCaller> = Vec::with_capacity(now.places.len() + before.places.len());
        for (home, place) in now.iter() {
            callers.push(place.shown(before.find(home), before.floor()));
        }
        for (_, place) in before.iter().filter(|(home, _)| now.find(*home).is_none()) {
            callers.push(place.shown(None, now.floor()));
        }
        callers.sort_by_key(|caller| std::cmp::Reverse(caller.count));
        callers.truncate(max);
        Top { since: self.since, callers }
    }

    /// Begins another minute, if this one is over.
    fn turn(&mut self, now: Timestamp) {
        let age = now.as_secs().saturating_sub(self.began.as_secs());
        if age < MINUTE_S {
            return;
        }
        self.before = std::mem::take(&mut self.now);
        self.since = self.began;
        if age >= 2 * MINUTE_S {
            // Nobody has called for so long that what is known is too old.
            self.before = Summary::default();
            self.since = now;
        }
        self.began = now;
    }
}

impl Summary {
    fn iter(&self) -> impl Iterator<Item = (u128, &Place)> {
        self.homes.iter().copied().zip(&self.places)
    }

    fn find(&self, home: u128) -> Option<&Place> {
        self.homes.iter().position(|known| *known == home).map(|place| &self.places[place])
    }

    /// What somebody who is not here may have had all the same.
    fn floor(&self) -> u64 {
        let full = self.places.len() == PLACES;
        self.places.iter().map(|place| place.count).min().filter(|_| full).unwrap_or(0)
    }

    fn add(&mut self, home: u128, caller: impl FnOnce() -> Caller, tier: Option<&TierName>, weight: u64) {
        if let Some(known) = self.homes.iter().position(|known| *known == home) {
            let place = &mut self.places[known];
            place.count += weight;
            place.weight = place.weight.max(weight);
            if place.tier.as_ref() != tier {
                place.tier = tier.cloned();
            }
            return;
        }
        let mut new = Place { caller: caller(), tier: tier.cloned(), count: weight, inherited: 0, weight };
        if self.places.len() < PLACES {
            self.homes.push(home);
            self.places.push(new);
            return;
        }
        let smallest = (0..PLACES).min_by_key(|place| self.places[*place].count).unwrap_or(0);
        let place = &mut self.places[smallest];
        new.inherited = place.count;
        new.count += place.count;
        new.weight = new.weight.max(place.weight);
        *place = new;
        self.homes[smallest] = home;
    }
}

impl Place {
    /// As people see it, with what the other minute says of it, or may have forgotten.
    fn shown(&self, other: Option<&Self>, forgotten: u64) -> TopCaller {
        let (more, inherited, weight) = match other {
            Some(other) => (other.count, other.inherited, other.weight),
            None => (0, forgotten, 1),
        };
        let count = self.count + more;
        let weight = self.weight.max(weight);
        // Of so many that were looked at, each with the chance of one in `weight`.
        let sampled = if weight > 1 { 3 * weight * (count / weight).isqrt().max(1) } else { 0 };
        let error = self.inherited.saturating_add(inherited).saturating_add(sampled);
        TopCaller { caller: self.caller.clone(), tier: self.tier.clone(), count, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_core::plan::HomeId;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(1_000_000 + secs)
    }

    fn add(minutes: &mut Minutes, number: u128, times: u64, now: Timestamp) {
        for _ in 0..times {
            minutes.add(number, || Caller::Client(ClientId(HomeId(number))), None, 1, now);
        }
    }

    fn counts(top: &Top) -> Vec<(u128, u64, u64)> {
        let number = |caller: &Caller| match caller {
            Caller::Client(client) => client.0.0,
            Caller::Account(_) => 0,
        };
        top.callers.iter().map(|top| (number(&top.caller), top.count, top.error)).collect()
    }

    #[test]
    fn few_callers_are_counted_exactly_and_the_most_come_first() {
        let mut minutes = Minutes::new(at(0));
        add(&mut minutes, 1, 3, at(0));
        add(&mut minutes, 2, 9, at(59));
        add(&mut minutes, 3, 1, at(60));
        add(&mut minutes, 1, 1, at(61));
        let top = minutes.top(10, at(62));
        assert_eq!(counts(&top), [(2, 9, 0), (1, 4, 0), (3, 1, 0)]);
        assert_eq!(top.since, at(0));
        assert_eq!(counts(&minutes.top(1, at(62))), [(2, 9, 0)]);
    }

    #[test]
    fn what_is_older_than_two_minutes_is_forgotten() {
        let mut minutes = Minutes::new(at(0));
        add(&mut minutes, 1, 3, at(0));
        assert_eq!(counts(&minutes.top(10, at(119))), [(1, 3, 0)]);
        add(&mut minutes, 2, 1, at(179));
        let top = minutes.top(10, at(180));
        assert_eq!((counts(&top), top.since), (vec![(2, 1, 0)], at(119)));
        assert_eq!(minutes.top(10, at(1_000)), Top { since: at(1_000), callers: Vec::new() });
    }

    #[test]
    fn whoever_has_more_than_a_place_is_worth_is_found_among_many() {
        let mut minutes = Minutes::new(at(0));
        let (mut total, mut truth) = (0, 0);
        for round in 0..20_000_u128 {
            // One in fifty is the same caller; the others come once each.
            let caller = if round.is_multiple_of(50) { 7 } else { 1_000 + round };
            truth += u64::from(caller == 7);
            add(&mut minutes, caller, 1, at(1));
            total += 1;
        }
        let top = minutes.top(1, at(2));
        let [(caller, count, error)] = counts(&top)[..] else { panic!("one caller") };
        assert_eq!(caller, 7);
        assert!(count >= truth && count - error <= truth, "{count} ± {error} is not {truth}");
        assert!(error <= total / 256 + 1, "{error}");
        assert!(minutes.now.places.len() <= PLACES);
    }

    #[test]
    fn what_stands_for_others_may_be_wrong_by_more() {
        let mut minutes = Minutes::new(at(0));
        for _ in 0..100 {
            minutes.add(1, || Caller::Client(ClientId(HomeId(1))), None, 32, at(0));
        }
        assert_eq!(counts(&minutes.top(1, at(0))), [(1, 3_200, 3 * 32 * 10)]);
    }
}
