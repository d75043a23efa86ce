//! One address with more than 1,000 refusals in an hour.
//!
//! The hour slides in minutes: it is the last sixty of them, the one that runs included. It fires when more than 1,000
//! refusals lie in them, and is resolved when that has not been so for an hour.
//!
//! Memory is bounded: 16,384 addresses are remembered, those with the most refusals. Their counts are exact from when
//! they are. An address is forgotten only while so many others have at least as many refusals, so whatever there are in
//! all, none is missed that has more than 1,000 and one in 16,384 of them. None is ever counted too high.

use std::collections::{BTreeMap, HashMap};
use std::hash::RandomState;

/// The minutes of an hour.
const MINUTES: u64 = 60;
/// As many places.
const PLACES: usize = 60;
/// More than so many.
const REFUSALS: u64 = 1_000;
/// How many addresses are remembered.
const ADDRESSES_MAX: usize = 16_384;
/// How many of them fire at the most: people have heard by then.
const FIRING_MAX: usize = 1_000;

/// Addresses, by their keyed hashes, and how often each was refused.
pub(super) type Refusals = Vec<(u64, u32)>;

/// The rule, with what it remembers.
#[derive(Debug, Default)]
pub(super) struct AddressRefusals {
    seen: HashMap<u64, Hour, RandomState>,
    firing: BTreeMap<u64, Firing>,
}

/// The refusals of one address.
#[derive(Debug)]
struct Hour {
    /// By minute, the number of the minute modulo sixty.
    minutes: [u16; PLACES],
    /// The last minute that is in them.
    last: u64,
    /// All of them.
    sum: u64,
}

#[derive(Debug)]
struct Firing {
    /// How many there were when it began.
    refusals: u64,
    /// The last minute in which there were too many; nothing: before a restart.
    last: Option<u64>,
}

impl Hour {
    const fn new(minute: u64) -> Self {
        Self { minutes: [0; PLACES], last: minute, sum: 0 }
    }

    /// Forgets the minutes that are not of the hour any more.
    fn turn(&mut self, minute: u64) {
        let passed = minute.saturating_sub(self.last).min(MINUTES);
        for ago in 0..passed {
            let gone = std::mem::take(self.at(minute - ago));
            self.sum -= u64::from(gone);
        }
        self.last = self.last.max(minute);
    }

    fn add(&mut self, minute: u64, refusals: u32) {
        self.turn(minute);
        // A minute is worth at most what a word holds: far more than it takes.
        let slot = self.at(minute);
        let more = u16::try_from(refusals).unwrap_or(u16::MAX).min(u16::MAX - *slot);
        *slot += more;
        self.sum += u64::from(more);
    }

    fn at(&mut self, minute: u64) -> &mut u16 {
        &mut self.minutes[(minute % MINUTES) as usize]
    }
}

impl AddressRefusals {
    /// Goes on with what was firing when the last process ended.
    pub(super) fn restore(&mut self, address: u64, refusals: u64) {
        self.firing.insert(address, Firing { refusals, last: None });
    }

    /// So often each address was refused in this minute, besides what was said of it before. Minutes come in order.
    pub(super) fn add(&mut self, minute: u64, refused: impl IntoIterator<Item = (u64, u32)>) {
        for (address, refusals) in refused {
            self.seen.entry(address).or_insert_with(|| Hour::new(minute)).add(minute, refusals);
        }
        self.seen.retain(|_, hour| {
            hour.turn(minute);
            hour.sum > 0
        });
        self.trim();
        for (address, hour) in self.seen.iter().filter(|(_, hour)| hour.sum > REFUSALS) {
            if let Some(firing) = self.firing.get_mut(address) {
                firing.last = Some(minute);
            } else if self.firing.len() < FIRING_MAX {
                self.firing.insert(*address, Firing { refusals: hour.sum, last: Some(minute) });
            }
        }
        self.firing.retain(|_, firing| minute < *firing.last.get_or_insert(minute) + MINUTES);
    }

    /// Keeps those with the most refusals.
    fn trim(&mut self) {
        if self.seen.len() <= ADDRESSES_MAX {
            return;
        }
        let mut sums: Vec<(u64, u64)> =
            self.seen.iter().map(|(address, hour)| (hour.sum, *address)).collect();
        let (gone, _, _) = {
            let first_kept = sums.len() - ADDRESSES_MAX;
            sums.select_nth_unstable(first_kept)
        };
        for (_, address) in gone {
            self.seen.remove(address);
        }
    }

    /// What fires: addresses, and how many refusals they had when that began.
    pub(super) fn firing(&self) -> impl Iterator<Item = (u64, u64)> {
        self.firing.iter().map(|(address, firing)| (*address, firing.refusals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firing(rule: &AddressRefusals) -> Vec<(u64, u64)> {
        rule.firing().collect()
    }

    #[test]
    fn a_thousand_refusals_are_not_more_than_a_thousand() {
        let mut rule = AddressRefusals::default();
        rule.add(100, [(7, 999), (8, 5_000)]);
        assert_eq!(firing(&rule), [(8, 5_000)]);
        rule.add(100, [(7, 1)]);
        assert_eq!(firing(&rule), [(8, 5_000)]);
        rule.add(101, [(7, 1)]);
        assert_eq!(firing(&rule), [(7, 1_001), (8, 5_000)]);
    }

    #[test]
    fn sixty_minutes_are_the_hour_and_one_more_is_not() {
        let mut rule = AddressRefusals::default();
        rule.add(100, [(7, 500)]);
        rule.add(159, [(7, 501)]);
        assert_eq!(firing(&rule), [(7, 1_001)]);
        let mut rule = AddressRefusals::default();
        rule.add(100, [(7, 500)]);
        rule.add(160, [(7, 501)]);
        assert_eq!(firing(&rule), []);
        rule.add(161, [(7, 499)]);
        assert_eq!(firing(&rule), []);
        rule.add(162, [(7, 1)]);
        assert_eq!(firing(&rule), [(7, 1_001)]);
    }

    #[test]
    fn it_is_resolved_when_an_hour_has_passed_since_there_were_too_many_and_fires_again_later() {
        let mut rule = AddressRefusals::default();
        rule.add(100, [(7, 1_001)]);
        // Above until minute 159, for its refusals are of the last hour until then.
        for minute in 101..=218 {
            rule.add(minute, [(7, 1)]);
            assert_eq!(firing(&rule), [(7, 1_001)], "minute {minute}");
        }
        rule.add(219, [(7, 1)]);
        assert_eq!(firing(&rule), []);
        rule.add(220, [(7, 2_000)]);
        assert_eq!(firing(&rule).len(), 1);
    }

    #[test]
    fn after_a_restart_it_fires_on_for_an_hour() {
        let mut rule = AddressRefusals::default();
        rule.restore(7, 1_234);
        rule.add(500, []);
        rule.add(559, []);
        assert_eq!(firing(&rule), [(7, 1_234)]);
        rule.add(560, []);
        assert_eq!(firing(&rule), []);
    }

    #[test]
    fn minutes_that_nobody_counted_pass_all_the_same() {
        let mut rule = AddressRefusals::default();
        rule.add(100, [(7, 1_001)]);
        rule.add(10_000, [(7, 1_000)]);
        assert_eq!(firing(&rule), []);
        assert_eq!(rule.seen[&7].sum, 1_000);
    }

    #[test]
    fn however_many_there_are_the_worst_are_remembered_and_none_is_counted_too_high() {
        let mut rule = AddressRefusals::default();
        for minute in 0..50_u64 {
            // A crowd that is new every minute, and one that is refused 21 times in each.
            let crowd = (0..20_000_u64).map(|number| ((minute << 32) | (number + 10), 1));
            rule.add(100 + minute, crowd.chain([(7, 21)]));
            assert!(rule.seen.len() <= ADDRESSES_MAX);
        }
        assert_eq!(firing(&rule), [(7, 1_008)], "as soon as its 21st refusals of a minute make it so");
    }

    #[test]
    fn a_flood_within_a_minute_is_counted_no_further_than_it_takes() {
        let mut rule = AddressRefusals::default();
        rule.add(100, [(7, u32::MAX)]);
        rule.add(100, [(7, u32::MAX)]);
        assert_eq!(rule.seen[&7].sum, u64::from(u16::MAX));
        rule.add(159, []);
        assert_eq!(rule.seen[&7].sum, u64::from(u16::MAX));
        rule.add(160, []);
        assert!(rule.seen.is_empty());
    }
}
