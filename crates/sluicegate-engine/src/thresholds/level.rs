//! The shares of a quota that people hear of.

/// How much of a quota is used, as far as people hear of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// Half of it.
    Half = 1,
    /// 80 % of it.
    Most = 2,
    /// 90 % of it.
    NearlyAll = 3,
    /// All of it.
    All = 4,
    /// More than all of it, and that is billed.
    Overage = 5,
}

impl Level {
    /// All of them, from the first.
    pub const ALL: [Self; 5] = [Self::Half, Self::Most, Self::NearlyAll, Self::All, Self::Overage];

    /// The share, in percent.
    pub const fn percent(self) -> u8 {
        match self {
            Self::Half => 50,
            Self::Most => 80,
            Self::NearlyAll => 90,
            Self::All | Self::Overage => 100,
        }
    }

    /// The word for it in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Half => "50",
            Self::Most => "80",
            Self::NearlyAll => "90",
            Self::All => "100",
            Self::Overage => "overage",
        }
    }

    /// The highest that is reached. Nothing: less than half is used.
    pub(super) fn of(used: u64, amount: u64, billed: bool) -> Option<Self> {
        if billed && used > amount {
            return Some(Self::Overage);
        }
        let reached =
            |level: &Self| u128::from(used) * 100 >= u128::from(amount) * u128::from(level.percent());
        Self::ALL.into_iter().take(4).rev().find(reached)
    }

    /// This one and those below it, from the first.
    pub(super) fn and_below(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |level| *level <= self)
    }

    /// Its place among all.
    pub(super) const fn place(self) -> usize {
        self as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_reached_exactly_when_so_much_is_used() {
        let of = |used| Level::of(used, 1_000, true);
        assert_eq!((of(499), of(500)), (None, Some(Level::Half)));
        assert_eq!((of(799), of(800)), (Some(Level::Half), Some(Level::Most)));
        assert_eq!((of(899), of(900)), (Some(Level::Most), Some(Level::NearlyAll)));
        assert_eq!((of(999), of(1_000)), (Some(Level::NearlyAll), Some(Level::All)));
        assert_eq!(of(1_001), Some(Level::Overage));
        assert_eq!(Level::of(1_001, 1_000, false), Some(Level::All));
    }

    #[test]
    fn small_and_large_quotas_have_shares_too() {
        assert_eq!((Level::of(0, 1, false), Level::of(1, 1, false)), (None, Some(Level::All)));
        assert_eq!(Level::of(1, 2, false), Some(Level::Half));
        assert_eq!(Level::of(1, 3, false), None);
        let most = (1 << 53) - 1;
        assert_eq!(
            (Level::of(most / 2, most, false), Level::of(most / 2 + 1, most, false)),
            (None, Some(Level::Half))
        );
        assert_eq!(Level::Most.and_below().collect::<Vec<_>>(), [Level::Half, Level::Most]);
    }
}
