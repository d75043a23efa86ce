//! Overage as a function of what was used, per period of the one billed quota.
//!
//! `max(0, used − included)`, where `included` is what the plan sold. From a change of the tier or the policy on, what
//! was recorded before stays as it is, and only what is used beyond both the new quota and the usage at the change is
//! added: `recorded + max(0, used − max(included, used at the change))`.

use crate::rule::count_up;

/// What a meter keeps of its period from before the last change of its tier or policy. All zero: there was none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct OverageBaseline {
    /// The overage that was recorded in the period before the change.
    pub recorded: u64,
    /// What was used in the period at the change.
    pub used: u64,
}

impl OverageBaseline {
    /// No change in this period.
    pub const NONE: Self = Self { recorded: 0, used: 0 };

    /// The overage of the period when so much is used of a quota that includes so much.
    #[inline]
    pub fn overage(self, included: u64, used: u64) -> u64 {
        let free = included.max(self.used);
        count_up(self.recorded, used.saturating_sub(free))
    }

    /// What is kept for a quota that includes so much: nothing if that makes no difference.
    pub const fn for_included(self, included: u64) -> Self {
        if self.recorded == 0 && self.used <= included { Self::NONE } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_change_it_is_what_is_used_beyond_the_quota() {
        let overage = |used| OverageBaseline::NONE.overage(10, used);
        assert_eq!([0, 9, 10, 11, 25].map(overage), [0, 0, 0, 1, 15]);
    }

    #[test]
    fn an_upgrade_undoes_nothing_and_a_downgrade_bills_nothing_that_was_included() {
        let upgraded = OverageBaseline { recorded: 5, used: 15 };
        assert_eq!([10, 15, 100, 101].map(|used| upgraded.overage(100, used)), [5, 5, 5, 6]);
        let downgraded = OverageBaseline { recorded: 0, used: 80 };
        assert_eq!([80, 81].map(|used| downgraded.overage(10, used)), [0, 1]);
        let most = crate::rule::Amount::MAX;
        assert_eq!(OverageBaseline { recorded: most, used: 0 }.overage(0, 7), most);
    }

    #[test]
    fn a_change_that_makes_no_difference_is_not_kept() {
        assert_eq!(OverageBaseline { recorded: 0, used: 10 }.for_included(10), OverageBaseline::NONE);
        let kept = OverageBaseline { recorded: 0, used: 11 };
        assert_eq!(kept.for_included(10), kept);
    }
}
