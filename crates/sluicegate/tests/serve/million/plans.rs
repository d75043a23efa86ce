//! The plans of the million, and how they change on the way.

use std::path::Path;

use super::model::{Quota, Spent};

/// More than anybody uses.
const PLENTY: u64 = 1_000_000_000;

/// Kinds of customers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A quota by the calendar month, which is spent.
    Monthly,
    /// A quota over the last day.
    Daily,
    /// A quota beyond which usage is billed.
    Billed,
    /// A quota for each key, which is spent.
    Keyed,
    /// What fails is given back.
    Refunding,
    /// It changes its tier all the time.
    Moving,
    /// It changes between billed tiers of different sizes.
    Upgrading,
    /// Its answers are lost with the server.
    Loose,
}

impl Kind {
    pub(super) const ALL: [Self; 8] = [
        Self::Monthly,
        Self::Daily,
        Self::Billed,
        Self::Keyed,
        Self::Refunding,
        Self::Moving,
        Self::Upgrading,
        Self::Loose,
    ];

    /// The name of its tier, and of its customers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Monthly => "monthly",
            Self::Daily => "daily",
            Self::Billed => "billed",
            Self::Keyed => "keyed",
            Self::Refunding => "refunding",
            Self::Moving => "moving",
            Self::Upgrading => "upgrading",
            Self::Loose => "loose",
        }
    }

    pub(super) const fn keys(self) -> usize {
        match self {
            Self::Keyed => 3,
            _ => 1,
        }
    }

    /// Its quota in this edition of the policy, where so many decisions are made in all.
    pub(super) fn quota(self, edition: usize, decisions: u64) -> Quota {
        // Raised, lowered below what is used, raised again.
        let step = [10, 16, 12, 20][edition % 4] + 10 * (edition / 4) as u64;
        let (amount, spent) = match self {
            Self::Monthly => (decisions * step / 100, Spent::Refuses),
            Self::Billed => (decisions * step / 100, Spent::Bills),
            Self::Keyed => (decisions * step / 300, Spent::Refuses),
            Self::Upgrading => (upgrading_quota(false, decisions), Spent::Bills),
            Self::Daily | Self::Refunding | Self::Moving | Self::Loose => (PLENTY, Spent::Refuses),
        };
        Quota { amount, spent }
    }
}

/// The tier of an account that changes between billed tiers.
pub(super) const fn upgrading_tier(upgraded: bool) -> &'static str {
    if upgraded { "upgraded" } else { "upgrading" }
}

/// What that tier includes.
pub(super) const fn upgrading_quota(upgraded: bool, decisions: u64) -> u64 {
    if upgraded { decisions / 10 } else { decisions / 50 }
}

/// The policy. `edit` changes something that refuses nobody.
pub(super) fn policy(edition: usize, decisions: u64, edit: u64, export: &Path) -> String {
    let quota = |kind: Kind| kind.quota(edition, decisions).amount;
    let (monthly, billed, keyed) = (quota(Kind::Monthly), quota(Kind::Billed), quota(Kind::Keyed));
    format!(
        "tiers:
  monthly: {{quota: {monthly}}}
  daily: {{quota: {PLENTY}, quota_window: sliding_day}}
  billed: {{quota: {billed}, on_quota_exceeded: bill_overage}}
  keyed: {{quota: {keyed}, quota_pool: key}}
  refunding: {{quota: {PLENTY}, refund_on: 5xx}}
  moving: {{quota: {PLENTY}}}
  upgrading: {{quota: {upgrading}, on_quota_exceeded: bill_overage}}
  upgraded: {{quota: {upgraded}, on_quota_exceeded: bill_overage}}
  moved: {{rate: 1_000_000, quota: {moved}, quota_window: sliding_day}}
  loose: {{quota: {PLENTY}}}
routes:
  search: {{match: \"GET /search/**\", cost: {SEARCH_COST}}}
responses: {{headers: [x-quota]}}
ledger: {{export: \"file://{}\"}}
",
        export.display(),
        moved = PLENTY + edit,
        upgrading = upgrading_quota(false, decisions),
        upgraded = upgrading_quota(true, decisions),
    )
}

/// What a search costs.
pub(super) const SEARCH_COST: u64 = 5;
