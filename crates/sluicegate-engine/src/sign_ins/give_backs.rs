//! What was given back without a permit: summed up by actor and account, for the audit.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sluicegate_core::time::Timestamp;

/// The most pairs of actor and account that are told apart within a minute; more are summed up as others.
const PAIRS_MAX: usize = 1_024;

/// What stands for an account beyond that.
const OTHERS: &str = "others";

/// What was given back since it was last taken.
#[derive(Debug, Default)]
pub(crate) struct GiveBacks(Mutex<BTreeMap<(String, String), GivenBack>>);

/// What one actor has given back to one account, within a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GivenBack {
    pub(super) minute: u32,
    pub(super) calls: u64,
    pub(super) units: u64,
}

impl GiveBacks {
    pub(crate) fn note(&self, actor: &str, target: &str, units: u64, now: Timestamp) {
        let mut all = self.0.lock();
        let pair = (actor.to_owned(), target.to_owned());
        let is_full = all.len() >= PAIRS_MAX && !all.contains_key(&pair);
        let pair = if is_full { (pair.0, OTHERS.to_owned()) } else { pair };
        let none = GivenBack { minute: now.as_secs() / 60, calls: 0, units: 0 };
        let given = all.entry(pair).or_insert(none);
        given.calls += 1;
        given.units = given.units.saturating_add(units);
    }

    /// Those whose minute is over; with `all`, every one.
    pub(super) fn take(&self, now: Timestamp, all: bool) -> Vec<((String, String), GivenBack)> {
        let minute = now.as_secs() / 60;
        let mut given = self.0.lock();
        let (taken, kept) = std::mem::take(&mut *given)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, given)| all || given.minute != minute);
        given.extend(kept);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_summed_up_by_actor_and_account() {
        let given = GiveBacks::default();
        let at = |secs: u32| Timestamp::from_secs(1_200_000 + secs);
        given.note("envoy", "acme", 5, at(0));
        given.note("envoy", "acme", 7, at(1));
        given.note("envoy", "zeta", 1, at(2));
        assert_eq!(given.take(at(59), false), []);
        let pair = |account: &str| ("envoy".to_owned(), account.to_owned());
        let sum = |calls, units| GivenBack { minute: 20_000, calls, units };
        assert_eq!(given.take(at(60), false), [(pair("acme"), sum(2, 12)), (pair("zeta"), sum(1, 1))]);
        assert_eq!(given.take(at(60), true), []);
        for account in 0..5_000 {
            given.note("envoy", &account.to_string(), 1, at(0));
        }
        let taken = given.take(at(0), true);
        assert!(taken.len() <= PAIRS_MAX + 1);
        assert_eq!(taken.iter().map(|(_, given)| given.units).sum::<u64>(), 5_000);
    }
}
