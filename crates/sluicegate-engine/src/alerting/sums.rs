//! What a node counted as the names of sums that all nodes share, and back.

use std::collections::BTreeMap;

use sluicegate_core::plan::HomeId;

use super::address_refusals::Refusals;
use super::caller_rate::{Pace, RateMeter, RatesUsed};
use super::counts::Observed;
use super::drift::Found;

/// How many callers, and how many addresses, a node tells of in a minute: those that use the most.
const TOLD_MAX: usize = 4_096;
/// Less than so much of its rate at one node, in percent, is not told: it takes ninety such nodes to make a difference.
const TOLD_PERCENT: u32 = 1;

const ADMITTED: &str = "admitted";
const REFUSED: &str = "refused";

/// The sums of a step.
pub(super) fn of_step(counted: Observed) -> Vec<(String, u64)> {
    let both = [(ADMITTED, counted.admitted), (REFUSED, counted.refused)];
    both.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
}

pub(super) fn step(sums: &BTreeMap<String, u64>) -> Observed {
    let sum = |name| sums.get(name).copied().unwrap_or(0);
    Observed { admitted: sum(ADMITTED), refused: sum(REFUSED) }
}

/// The sums of addresses that were refused.
pub(super) fn of_addresses(mut refused: Refusals) -> Vec<(String, u64)> {
    refused.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = refused.into_iter().take(TOLD_MAX);
    told.map(|(address, count)| (format!("a {address:016x}"), u64::from(count))).collect()
}

/// The sums of what was used of rates.
pub(super) fn of_rates(used: RatesUsed) -> Vec<(String, u64)> {
    let mut told: Vec<_> =
        used.into_iter().filter(|(meter, used)| meter.pace.is_exceeded(*used, TOLD_PERCENT)).collect();
    let share = |(meter, used): &(RateMeter, u64)| {
        u128::from(*used) * u128::from(meter.pace.window_s) * 1_000 / u128::from(meter.pace.amount.max(1))
    };
    told.sort_by_cached_key(|used| std::cmp::Reverse(share(used)));
    told.truncate(TOLD_MAX);
    let name = |meter: &RateMeter| {
        let RateMeter { home, sharer, limit, account, key, pace } = meter;
        format!("c {:032x} {sharer} {limit} {account} {key} {} {}", home.0, pace.amount, pace.window_s)
    };
    told.into_iter().map(|(meter, used)| (name(&meter), used)).collect()
}

/// What is in the sums of a minute: addresses, and rates. What another version has put there is left out.
pub(super) fn minute(sums: &BTreeMap<String, u64>) -> (Refusals, RatesUsed) {
    let address = |(name, count): (&String, &u64)| {
        let address = u64::from_str_radix(name.strip_prefix("a ")?, 16).ok()?;
        Some((address, u32::try_from(*count).unwrap_or(u32::MAX)))
    };
    let rate = |(name, count): (&String, &u64)| Some((meter(name.strip_prefix("c ")?)?, *count));
    (sums.iter().filter_map(address).collect(), sums.iter().filter_map(rate).collect())
}

fn meter(name: &str) -> Option<RateMeter> {
    let [home, sharer, limit, account, key, amount, window_s] =
        name.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(RateMeter {
        home: HomeId(u128::from_str_radix(home, 16).ok()?),
        sharer: sharer.parse().ok()?,
        limit: limit.to_owned(),
        account: account.parse().ok()?,
        key: key.parse().ok()?,
        pace: Pace { amount: amount.parse().ok()?, window_s: window_s.parse().ok()? },
    })
}

/// What a node found when it compared meters and records, as it tells others: with the second in which it told them.
pub(super) fn of_drift(found: Found, now_s: u32) -> String {
    format!("{now_s} {} {}", found.quotas, found.units)
}

/// When that was told, and what was found.
pub(super) fn drift(text: &str) -> Option<(u32, Found)> {
    let [at, quotas, units] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some((at.parse().ok()?, Found { quotas: quotas.parse().ok()?, units: units.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter_of(home: u128, amount: u64) -> RateMeter {
        let pace = Pace { amount, window_s: 60 };
        RateMeter { home: HomeId(home), sharer: 2, limit: "a.b-c_d".to_owned(), account: 7, key: 3, pace }
    }

    #[test]
    fn what_is_told_is_read_again() {
        let counted = Observed { admitted: 5, refused: 0 };
        assert_eq!(step(&of_step(counted).into_iter().collect()), counted);
        let used = vec![(meter_of(1 << 100, 100), 95), (meter_of(2, 100), 7)];
        let mut sums: BTreeMap<String, u64> = of_rates(used.clone()).into_iter().collect();
        sums.extend(of_addresses(vec![(u64::MAX, 3), (0, 1)]));
        sums.insert("x of another version".to_owned(), 1);
        let (addresses, rates) = minute(&sums);
        assert_eq!(addresses, [(0, 1), (u64::MAX, 3)]);
        assert_eq!(rates.len(), 2);
        assert!(used.iter().all(|used| rates.contains(used)), "{rates:?}");
        let found = Found { quotas: 1, units: u64::MAX };
        assert_eq!(drift(&of_drift(found, 9)), Some((9, found)));
        assert_eq!(drift("nonsense"), None);
    }

    #[test]
    fn only_so_many_are_told_of_and_those_first_that_use_the_most_of_their_own() {
        let used = (0..5_000_u64).map(|home| (meter_of(home.into(), 1_000 + home), 500)).collect();
        let told = of_rates(used);
        assert_eq!(told.len(), TOLD_MAX);
        assert!(told[0].0.contains(" 1000 60") && !told.iter().any(|(name, _)| name.contains(" 5999 60")));
        assert_eq!(of_rates(vec![(meter_of(1, 1_000), 10)]), [], "one percent is nothing yet");
        let refused = (0..5_000).map(|address| (address, if address == 4_999 { 9 } else { 1 })).collect();
        let told = of_addresses(refused);
        assert_eq!((told.len(), told[0].1), (TOLD_MAX, 9));
    }
}
