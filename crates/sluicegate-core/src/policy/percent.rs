//! A share of a limit.

use std::fmt;

/// 1 to 100 percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Percent(u8);

impl Percent {
    /// All of it.
    pub const FULL: Self = Self(100);

    /// The share, or nothing outside 1 to 100.
    pub const fn new(percent: u64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "bounded by 100")]
        if percent >= 1 && percent <= 100 { Some(Self(percent as u8)) } else { None }
    }

    /// The number before the `%`.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// This share of that share, but at least 1 %.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match Self::new(self.0 as u64 * other.0 as u64 / 100) {
            Some(both) => both,
            None => Self(1),
        }
    }

    /// The share of `amount`, rounded down, but at least 1: a limit is made smaller, not switched off.
    #[expect(clippy::cast_possible_truncation, reason = "never more than `amount`")]
    pub const fn of(self, amount: u64) -> u64 {
        let share = amount as u128 * self.0 as u128 / 100;
        if share == 0 { 1 } else { share as u64 }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Percent;

    #[test]
    fn a_share_is_rounded_down_to_at_least_one() {
        let share = |percent, amount| Percent::new(percent).map(|percent| percent.of(amount));
        assert_eq!(share(40, 10), Some(4));
        assert_eq!(share(40, 1), Some(1));
        assert_eq!(share(100, u64::MAX), Some(u64::MAX));
        assert_eq!(share(0, 10), None);
        assert_eq!(share(101, 10), None);
    }
}
