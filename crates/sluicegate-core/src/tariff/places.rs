//! The places of limits: how records name some of the limits of a tariff.

use crate::policy::Tier;

/// Some of the limits of a tariff, by their places (see `places_of`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LimitPlaces(u16);

impl LimitPlaces {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// All of them.
    pub const ALL: Self = Self(u16::MAX);

    /// As a number in files.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// From a number in files.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// One place alone; that of what is no limit of a tier is none of them.
    pub(super) fn one(place: u8) -> Self {
        Self(1u16.checked_shl(place.into()).unwrap_or(0))
    }

    pub(super) fn contains(self, place: u8) -> bool {
        self.0.checked_shr(place.into()).is_some_and(|from_there| from_there & 1 == 1)
    }
}

/// The limits that a tier has by keys of its own. In every tier they have the same places, so that a record means
/// the same limits after a change of the tier.
const COMMON_LIMITS: [&str; 3] = ["rate", "concurrency", "quota"];

/// The places of the limits of a tier: every limit has one of its own. The common ones come first; places that they
/// do not take are the last that others get.
pub(super) fn places_of(tier: &Tier) -> Vec<u8> {
    let common =
        |name: &str| (0..).zip(COMMON_LIMITS).find(|(_, common)| *common == name).map(|(place, _)| place);
    let names: Vec<Option<u8>> = tier.limits.iter().map(|entry| common(entry.limit.name.as_str())).collect();
    let free = (0..3).filter(|place| !names.contains(&Some(*place)));
    let mut others = (3..16).chain(free);
    names.iter().map(|place| place.or_else(|| others.next()).unwrap_or(u8::MAX)).collect()
}

/// The places that the limits of a key get: from the last one on, where the tier has none.
pub(super) fn free_places(taken: LimitPlaces) -> impl Iterator<Item = u8> {
    (0..16).rev().filter(move |place| !taken.contains(*place))
}
