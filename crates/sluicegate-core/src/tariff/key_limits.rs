//! A key's own limits, below those of its account: settled together with them, under names of their own.

use std::fmt;

use super::places::free_places;
use super::{AccountCalendar, LimitPlaces, Line, Plan, Tariff};
use crate::book::LimitId;
use crate::limit::{Limit, LimitName, Per};
use crate::policy::{Tier, TierLimit};
use crate::rule::Rule;

/// The limits of a key and those of its account are more than a request settles at once, or one has a name that is too
/// long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyLimitsDoNotFit;

impl fmt::Display for KeyLimitsDoNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = Tier::LIMITS_MAX;
        write!(f, "the limits of the key and of its tier are more than {max} together, or a name is too long")
    }
}

impl std::error::Error for KeyLimitsDoNotFit {}

impl Plan {
    /// The most limits that a key may have of its own.
    pub const KEY_LIMITS_MAX: usize = 4;

    /// The same plan with the limits of a key behind those of the account, axis by axis. Each has the name `key.` and
    /// its own, and a meter that no other key shares. `enter` gives limits their numbers in the book.
    pub fn with_key_limits(
        &self,
        own: &[TierLimit],
        calendar: &AccountCalendar,
        mut enter: impl FnMut(&Limit) -> LimitId,
    ) -> Result<Self, KeyLimitsDoNotFit> {
        let mut lines: Vec<Line> = self
            .tariff
            .lines
            .iter()
            .map(|line| {
                let limit = line.limit.clone();
                Line { place: line.place, ..Line::new(limit, line.routes.clone(), line.signal, &mut enter) }
            })
            .collect();
        let taken =
            lines.iter().fold(LimitPlaces::NONE, |taken, line| taken.and(LimitPlaces::one(line.place)));
        let mut places = free_places(taken);
        for entry in own {
            let name = format!("{}{}", LimitName::KEY_PREFIX, entry.limit.name);
            let name = LimitName::new(&name).ok_or(KeyLimitsDoNotFit)?;
            let mut limit = Limit { name, per: Per::Key, ..entry.limit.clone() };
            if let Rule::Calendar { calendar: ours, .. } = &mut limit.rule {
                *ours = ours.for_account(calendar.zone.clone(), calendar.billing_day);
            }
            let place = places.next().ok_or(KeyLimitsDoNotFit)?;
            lines.push(Line { place, ..Line::new(limit, entry.routes.clone(), None, &mut enter) });
        }
        // Stable: those of the account come first, and what is remembered of conduct stays last.
        lines.sort_by_key(|line| line.limit.axis);
        let tariff = Tariff { expects: self.tariff.expects, ..Tariff::of(lines, self.tariff.class) };
        Ok(Self { name: self.name.clone(), tariff, ..*self })
    }
}
