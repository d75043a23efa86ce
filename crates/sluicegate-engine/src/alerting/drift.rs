//! Ledger drift: meters that differ from the records.
//!
//! It fires when a comparison finds a difference, and is resolved when one finds none. Where there are several nodes
//! each compares its own records, and what they found last is added up.

/// What the last comparisons came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Found {
    /// How many quotas do not agree.
    pub(super) quotas: u64,
    /// By how much.
    pub(super) units: u64,
}

impl Found {
    /// Both together.
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            quotas: self.quotas.saturating_add(other.quotas),
            units: self.units.saturating_add(other.units),
        }
    }
}

/// The rule, with what it remembers.
#[derive(Debug, Default)]
pub(super) struct Drift {
    firing: Option<Found>,
}

impl Drift {
    /// Goes on with what was firing when the last process ended.
    pub(super) const fn restored() -> Self {
        Self { firing: Some(Found { quotas: 0, units: 0 }) }
    }

    /// What the last comparisons came to. As long as there was none, nothing changes.
    pub(super) fn compared(&mut self, found: Option<Found>) {
        match found {
            None => {}
            Some(Found { quotas: 0, .. }) => self.firing = None,
            Some(found) => self.firing = self.firing.or(Some(found)),
        }
    }

    /// Whether it fires, and what was found when it began.
    pub(super) const fn firing(&self) -> Option<Found> {
        self.firing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fires_with_the_first_difference_and_is_resolved_by_a_clean_comparison() {
        let mut drift = Drift::default();
        drift.compared(None);
        drift.compared(Some(Found::default()));
        assert_eq!(drift.firing(), None);
        let found = Found { quotas: 1, units: 1 };
        drift.compared(Some(found));
        drift.compared(Some(Found { quotas: 5, units: 9 }));
        assert_eq!(drift.firing(), Some(found));
        drift.compared(None);
        assert_eq!(drift.firing(), Some(found), "nobody has compared since");
        drift.compared(Some(Found::default()));
        assert_eq!(drift.firing(), None);
        drift.compared(Some(found));
        assert_eq!(drift.firing(), Some(found));
    }

    #[test]
    fn after_a_restart_it_fires_on_until_somebody_has_compared() {
        let mut drift = Drift::restored();
        drift.compared(None);
        assert!(drift.firing().is_some());
        drift.compared(Some(Found::default()));
        assert_eq!(drift.firing(), None);
    }
}
