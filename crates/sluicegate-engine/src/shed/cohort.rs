//! How long requests take, of some that started one after the other.
//!
//! They are chosen when they start and not when they end: of those that end first most are short, whatever the
//! upstream does.

use sluicegate_core::time::{Nanos, Timestamp};

/// A request whose time is taken, and the number of its cohort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Enrolled(u64);

/// Requests that started one after the other.
#[derive(Debug)]
pub(crate) struct Cohort {
    number: u64,
    opened: Timestamp,
    last_entered: Timestamp,
    wanted: u64,
    members: u64,
    gone: u64,
    sum: u64,
    squares: u128,
    /// Times beyond this count as this: a few that wait for their callers say nothing about the upstream.
    clip: Nanos,
}

/// Fewer than this say nothing at all.
const MEMBERS_MIN: u64 = 8;

impl Cohort {
    pub(crate) fn new(number: u64, wanted: u64, clip: Nanos, now: Timestamp) -> Self {
        let wanted = wanted.max(MEMBERS_MIN);
        Self { number, opened: now, last_entered: now, wanted, members: 0, gone: 0, sum: 0, squares: 0, clip }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn opened(&self) -> Timestamp {
        self.opened
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// Takes a request that starts, if more are wanted.
    pub(crate) fn enrol(&mut self, now: Timestamp) -> Option<Enrolled> {
        if self.members >= self.wanted {
            return None;
        }
        self.members += 1;
        self.last_entered = now;
        Some(Enrolled(self.number))
    }

    fn is_mine(&self, enrolled: Option<Enrolled>) -> bool {
        enrolled == Some(Enrolled(self.number))
    }

    /// Notes how long one took.
    pub(crate) fn took(&mut self, enrolled: Option<Enrolled>, took: Nanos) {
        if self.is_mine(enrolled) {
            self.gone += 1;
            let took = took.min(self.clip).0;
            self.sum = self.sum.saturating_add(took);
            self.squares = self.squares.saturating_add(u128::from(took).pow(2));
        }
    }

    /// Forgets one that says nothing.
    pub(crate) fn forget(&mut self, enrolled: Option<Enrolled>) {
        if self.is_mine(enrolled) {
            self.members -= 1;
        }
    }

    /// What they took, once all have ended, or those that have not cannot count for more, or it is clear already that
    /// they take longer than this.
    pub(crate) fn times(&self, long: Nanos, now: Timestamp) -> Option<Times> {
        let waiting = u128::from(self.members - self.gone);
        let waited = u128::from(now.since(self.last_entered).min(self.clip).0);
        let members = u128::from(self.members);
        let sum = u128::from(self.sum) + waiting * waited;
        let mean = sum.checked_div(members)?;
        let has_ended = self.members >= self.wanted && (waiting == 0 || waited == u128::from(self.clip.0));
        let is_long = self.members >= MEMBERS_MIN && mean > u128::from(long.0);
        if !has_ended && !is_long {
            return None;
        }
        let squares = self.squares + waiting * waited.pow(2);
        let variance = (squares / members).saturating_sub(mean * mean);
        Some(Times { mean: u64::try_from(mean).ok()?, variance, members: self.members, clip: self.clip.0 })
    }
}

/// What the requests of a cohort took, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Times {
    pub(crate) mean: u64,
    pub(crate) variance: u128,
    members: u64,
    clip: u64,
}

impl Times {
    /// Whether the mean lies so far from this that it is no chance: by twice its standard error.
    pub(crate) fn differs_from(&self, other: u64) -> bool {
        let apart = u128::from(self.mean.abs_diff(other)).saturating_pow(2);
        apart.saturating_mul(self.members.into()) > self.variance.saturating_mul(4)
    }

    /// Whether so many took longer than is counted that the mean says little.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.mean > self.clip / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * MS)
    }

    fn mean(cohort: &Cohort, now: Timestamp) -> Option<Nanos> {
        cohort.times(Nanos(u64::MAX), now).map(|times| Nanos(times.mean))
    }

    fn of_eight() -> (Cohort, Vec<Option<Enrolled>>) {
        let mut cohort = Cohort::new(7, 8, Nanos(100 * MS), at(0));
        let members = (0..8).map(|_| cohort.enrol(at(1))).collect();
        (cohort, members)
    }

    #[test]
    fn the_mean_is_known_when_all_have_ended() {
        let (mut cohort, members) = of_eight();
        assert_eq!(cohort.enrol(at(2)), None);
        for (member, took) in members.iter().zip([10, 20, 30, 40, 50, 60, 70, 80]) {
            assert_eq!(mean(&cohort, at(90)), None);
            cohort.took(*member, Nanos(took * MS));
        }
        assert_eq!(mean(&cohort, at(90)), Some(Nanos(45 * MS)));
    }

    #[test]
    fn one_that_hangs_is_waited_for_as_long_as_it_can_count() {
        let (mut cohort, members) = of_eight();
        for member in &members[..7] {
            cohort.took(*member, Nanos(20 * MS));
        }
        assert_eq!(mean(&cohort, at(100)), None);
        assert_eq!(mean(&cohort, at(101)), Some(Nanos(30 * MS)));
        cohort.took(members[7], Nanos(9_000 * MS));
        assert_eq!(mean(&cohort, at(9_000)), Some(Nanos(30 * MS)));
    }

    #[test]
    fn those_of_another_cohort_and_those_that_say_nothing_do_not_count() {
        let (mut cohort, members) = of_eight();
        cohort.took(Some(Enrolled(6)), Nanos(90 * MS));
        cohort.took(None, Nanos(90 * MS));
        cohort.forget(members[0]);
        for member in &members[1..] {
            cohort.took(*member, Nanos(10 * MS));
        }
        assert_eq!(mean(&cohort, at(50)), None, "one is missing");
        let another = cohort.enrol(at(51));
        cohort.took(another, Nanos(10 * MS));
        assert_eq!(mean(&cohort, at(61)), Some(Nanos(10 * MS)));
    }

    #[test]
    fn that_all_take_long_is_known_before_they_end() {
        let mut cohort = Cohort::new(1, 32, Nanos(100 * MS), at(0));
        for _ in 0..8 {
            cohort.enrol(at(10));
        }
        let times = |ms| cohort.times(Nanos(30 * MS), at(ms)).map(|times| times.mean);
        assert_eq!(times(40), None);
        assert_eq!(times(41), Some(31 * MS));
    }
}
