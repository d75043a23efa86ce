//! The plans that lives have, in three editions: a reload changes their numbers.

/// One plan, as its tier in the policy file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TierNumbers {
    pub(crate) name: &'static str,
    pub(crate) per_second: u64,
    pub(crate) burst: u64,
    pub(crate) quota: u64,
    pub(crate) slots: usize,
}

/// The tiers between which accounts are moved. `small` and `large` bill overage by the month, `hard` refuses by the
/// month.
pub(crate) const MONTHLY: [&str; 3] = ["small", "large", "hard"];
/// The tier of accounts that are never moved: it refuses by the day.
pub(crate) const DAILY: &str = "daily";

/// Where `small` and `hard` have the same rate, moving from one to the other changes no bucket.
const EDITIONS: [[TierNumbers; 4]; 3] = [
    [
        TierNumbers { name: "small", per_second: 5, burst: 12, quota: 40, slots: 6 },
        TierNumbers { name: "large", per_second: 9, burst: 20, quota: 90, slots: 9 },
        TierNumbers { name: "hard", per_second: 5, burst: 12, quota: 55, slots: 6 },
        TierNumbers { name: "daily", per_second: 5, burst: 12, quota: 30, slots: 6 },
    ],
    [
        TierNumbers { name: "small", per_second: 4, burst: 9, quota: 60, slots: 5 },
        TierNumbers { name: "large", per_second: 9, burst: 20, quota: 70, slots: 9 },
        TierNumbers { name: "hard", per_second: 4, burst: 9, quota: 45, slots: 6 },
        TierNumbers { name: "daily", per_second: 7, burst: 16, quota: 45, slots: 6 },
    ],
    [
        TierNumbers { name: "small", per_second: 5, burst: 12, quota: 25, slots: 6 },
        TierNumbers { name: "large", per_second: 11, burst: 24, quota: 120, slots: 12 },
        TierNumbers { name: "hard", per_second: 7, burst: 16, quota: 70, slots: 5 },
        TierNumbers { name: "daily", per_second: 5, burst: 12, quota: 50, slots: 4 },
    ],
];

impl TierNumbers {
    /// Whether its quota refuses what it does not include, instead of billing it.
    pub(crate) fn refuses(&self) -> bool {
        ["hard", DAILY].contains(&self.name)
    }

    /// What it includes before it bills. Nothing: it bills nothing.
    pub(crate) fn included(&self) -> Option<u64> {
        (!self.refuses()).then_some(self.quota)
    }

    /// Whether its bucket is the same as that of another.
    pub(crate) fn has_rate_of(&self, other: &Self) -> bool {
        (self.burst, self.per_second) == (other.burst, other.per_second)
    }
}

/// How many editions there are.
pub(crate) const EDITIONS_COUNT: usize = EDITIONS.len();

/// The numbers of a tier in an edition.
pub(crate) fn numbers(edition: usize, tier: &str) -> TierNumbers {
    *EDITIONS[edition].iter().find(|numbers| numbers.name == tier).unwrap()
}

/// The policy file of an edition.
pub(crate) fn policy_text(edition: usize) -> String {
    use std::fmt::Write as _;
    let mut text = "tiers:\n".to_owned();
    for TierNumbers { name, per_second, burst, quota, slots } in EDITIONS[edition] {
        let quota_rules = match name {
            "daily" => "quota_window: calendar_day",
            "hard" => "on_quota_exceeded: block",
            _ => "on_quota_exceeded: bill_overage, refund_on: 5xx",
        };
        let _ = writeln!(
            text,
            "  {name}: {{rate: {per_second}, burst: {burst}, quota: {quota}, concurrency: {slots}, {quota_rules}}}"
        );
    }
    text
}
