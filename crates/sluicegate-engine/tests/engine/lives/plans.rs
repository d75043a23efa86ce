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

/// `small` and `large` bill overage by the month, `hard` refuses by the day.
const EDITIONS: [[TierNumbers; 3]; 3] = [
    [
        TierNumbers { name: "small", per_second: 5, burst: 12, quota: 40, slots: 6 },
        TierNumbers { name: "large", per_second: 9, burst: 20, quota: 90, slots: 9 },
        TierNumbers { name: "hard", per_second: 5, burst: 12, quota: 30, slots: 6 },
    ],
    [
        TierNumbers { name: "small", per_second: 4, burst: 9, quota: 60, slots: 5 },
        TierNumbers { name: "large", per_second: 9, burst: 20, quota: 70, slots: 9 },
        TierNumbers { name: "hard", per_second: 7, burst: 16, quota: 45, slots: 6 },
    ],
    [
        TierNumbers { name: "small", per_second: 5, burst: 12, quota: 25, slots: 6 },
        TierNumbers { name: "large", per_second: 11, burst: 24, quota: 120, slots: 12 },
        TierNumbers { name: "hard", per_second: 5, burst: 12, quota: 50, slots: 4 },
    ],
];

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
            "hard" => "quota_window: calendar_day",
            _ => "on_quota_exceeded: bill_overage, refund_on: 5xx",
        };
        let _ = writeln!(
            text,
            "  {name}: {{rate: {per_second}, burst: {burst}, quota: {quota}, concurrency: {slots}, {quota_rules}}}"
        );
    }
    text
}
