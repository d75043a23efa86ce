//! Which quota of a plan a record was settled under, as far as its overage is concerned.

/// A print of the billed quota that a record was settled under. Equal ones stand for the same quota, except that one in
/// sixteen thousand pairs of different ones is taken for the same.
///
/// A change of the quota leaves a baseline in the meter, of what was recorded and used until then. A recount of the
/// records sees by this between which of them the change was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BilledPrint(u16);

impl BilledPrint {
    /// An older version did not say.
    pub const UNKNOWN: Self = Self(0);
    /// No overage was billed.
    pub const NOTHING: Self = Self(1);
    /// How many bits it has in files.
    pub(crate) const BITS: u32 = 14;

    /// That of a quota that includes so much in each window of this length; 0: in each period of a calendar.
    #[inline]
    pub const fn of(included: u64, window: u64) -> Self {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (included.wrapping_mul(MIX) ^ window).wrapping_mul(MIX);
        let [.., low, high] = mixed.to_le_bytes();
        let print = u16::from_le_bytes([low, high]) >> (u16::BITS - Self::BITS);
        // The first two have a meaning of their own.
        Self(if print < 2 { print + 2 } else { print })
    }

    /// As a number in files, and between nodes.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// From a number in files.
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_other_sizes_and_windows_have_other_prints_and_fit_a_record() {
        let day = 86_400_000_000_000;
        let quotas = [(1, 0), (10, 0), (100, 0), (1_000, 0), (1_000_000, 0), (10, day), (100, day)];
        let mut prints: Vec<u16> =
            quotas.iter().map(|(included, window)| BilledPrint::of(*included, *window).to_bits()).collect();
        assert!(prints.iter().all(|print| (2..1 << BilledPrint::BITS).contains(print)));
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), quotas.len());
    }

    #[test]
    fn what_is_written_stays_the_same() {
        // Records on disk are compared with it.
        assert_eq!(BilledPrint::of(1_000, 0), BilledPrint(2_196));
        assert_eq!(BilledPrint::of(10, 86_400_000_000_000), BilledPrint(5_737));
    }
}
