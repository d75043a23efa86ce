//! Whether the recorded overage is what the rule says: a function of what was used. See "Overage" in
//! `docs/algorithms.md`.
//!
//! The records of a period are counted in their order, by pool: an account, or a key that has a quota of its own. A
//! pool of which the rule cannot be told for certain is left out: nothing is billed or refunded on a guess. That is so
//! where an older version recorded something, where the billed quota changed more than once or amid requests, and
//! where the records of this node are not all there are.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::{BilledPrint, Flags, Kind, Record};

use super::quota::{Others, QuotaCount, Said};
use super::recount::{Accounts, Counted, Measure, Quota, Used};
use crate::record::billed_print;

/// For how long nothing must have been recorded before a change of the billed quota. Requests under both may be decided
/// at the same time, and the order of their records be another than that in which the meter was charged.
const QUIET: Nanos = Nanos::from_secs(60);

/// An account and, where each key has a quota of its own, the key.
pub(super) type Pool = (u64, Option<NonZeroU32>);

/// What the records say of billed pools.
pub(super) type Pools = BTreeMap<Pool, PoolCount>;

/// What the records of one period say of a billed pool, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PoolCount {
    used: i128,
    recorded: i128,
    /// The billed quota of the last record.
    print: BilledPrint,
    change: Option<QuotaChange>,
    last_at: Timestamp,
    /// Whether the shared store was told of a record later than it was made.
    is_owed: bool,
    /// Whether the rule cannot be told.
    is_unclear: bool,
    /// The last record with overage, or the last of all.
    pub(super) like: Record,
}

/// A change of the billed quota in the period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct QuotaChange {
    used: i128,
    recorded: i128,
}

impl PoolCount {
    fn new(first: &Record) -> Self {
        Self {
            used: 0,
            recorded: 0,
            print: first.billed,
            change: None,
            last_at: first.at,
            is_owed: false,
            is_unclear: false,
            like: *first,
        }
    }

    /// Counts a record of a pool, which changed what was used of the billed quota by `cost`.
    pub(super) fn count(pools: &mut Pools, pool: Pool, record: &Record, cost: u64) {
        if record.env == KeyEnv::Test || (cost == 0 && record.overage == 0) {
            return;
        }
        let count = pools.entry(pool).or_insert_with(|| Self::new(record));
        if record.billed != count.print {
            let is_amid = record.at.since(count.last_at) < QUIET || count.is_owed;
            count.is_unclear |= is_amid || count.change.is_some();
            count.change = Some(QuotaChange { used: count.used, recorded: count.recorded });
            count.print = record.billed;
        }
        count.is_unclear |= record.billed == BilledPrint::UNKNOWN;
        count.is_owed |= record.flags.contains(Flags::OWED);
        count.last_at = count.last_at.max(record.at);
        let sign = if record.kind == Kind::Refund { -1 } else { 1 };
        count.used += sign * i128::from(cost);
        count.recorded += sign * i128::from(record.overage);
        if record.overage > 0 || count.like.overage == 0 {
            count.like = *record;
        }
    }

    /// The overage by the rule, under a quota that includes so much. Nothing if that cannot be told.
    fn rule(&self, included: i128, print: BilledPrint) -> Option<i128> {
        if self.is_unclear {
            return None;
        }
        if self.print != print {
            // The change is noticed with the next charge. Until then nothing is added.
            return Some(self.recorded);
        }
        Some(match self.change {
            None => (self.used - included).max(0),
            Some(change) => change.recorded + (self.used - included.max(change.used)).max(0),
        })
    }

    /// Whether all its records are of this billed quota.
    fn is_all_of(&self, print: BilledPrint) -> bool {
        !self.is_unclear && self.change.is_none() && self.print == print
    }
}

/// What it takes to compare the recorded overage with the rule.
pub(super) struct BilledBooks<'b> {
    pub(super) accounts: &'b Accounts,
    /// What the records of this node say.
    pub(super) own: &'b Used,
    pub(super) pools: &'b Pools,
    pub(super) others: &'b Others,
}

/// What is known of a pool of this node.
enum Known<'p> {
    /// This node has recorded nothing.
    Nothing,
    /// All that it has recorded.
    All(&'p PoolCount),
    /// It cannot be told.
    Unclear,
}

impl BilledBooks<'_> {
    /// The pools whose recorded overage is not what the rule says, of those that were compared otherwise. Only where
    /// the meter agrees with the records to the unit: then these are all there are, and nothing is under way.
    pub(super) fn differences(&self, counts: &[QuotaCount]) -> Vec<QuotaCount> {
        let of = |measure| counts.iter().filter(move |count| count.measure == measure);
        let used: BTreeMap<&Quota, &QuotaCount> = of(Measure::Used).map(|used| (&used.quota, used)).collect();
        let differs = of(Measure::Overage).filter_map(|overage| {
            let used = used.get(&with(&overage.quota, Measure::Used))?;
            let is_quiet = used.meter.least == used.meter.most && used.drift() == 0;
            let rule = is_quiet.then(|| self.rule(overage, used.records)).flatten()?;
            let said = u64::try_from(rule).ok()?;
            let quota = with(&overage.quota, Measure::Billed);
            let meter = Said { least: said, most: said };
            (rule != overage.records).then(|| QuotaCount {
                measure: Measure::Billed,
                meter,
                quota,
                ..overage.clone()
            })
        });
        differs.collect()
    }

    /// What other nodes need to know: under which billed quota this one has recorded what it did.
    pub(super) fn prints(&self, counts: &[QuotaCount]) -> Vec<QuotaCount> {
        let billed = counts.iter().filter(|count| count.measure == Measure::Overage);
        let print = |overage: &QuotaCount| {
            let print = billed_print(&self.account(overage)?.plan);
            let (measure, records) = match self.known(&overage.quota) {
                Known::Nothing => return None,
                Known::All(pool) if pool.is_all_of(print) => (Measure::BilledUnder(print), pool.used),
                Known::All(_) | Known::Unclear => (Measure::BilledUnclear, 1),
            };
            let quota = with(&overage.quota, measure);
            Some(QuotaCount { measure, records, meter: Said { least: 0, most: 0 }, quota, ..overage.clone() })
        };
        billed.filter_map(print).collect()
    }

    fn account(&self, count: &QuotaCount) -> Option<&Counted> {
        self.accounts.get(&count.quota.account)
    }

    fn known(&self, overage: &Quota) -> Known<'_> {
        let own = |measure| self.own.get(&with(overage, measure)).copied().unwrap_or(0);
        let (used, recorded) = (own(Measure::Used), own(Measure::Overage));
        match self.pools.get(&(overage.account, overage.key)) {
            None if used == 0 && recorded == 0 => Known::Nothing,
            Some(pool) if !pool.is_unclear && pool.used == used && pool.recorded == recorded => {
                Known::All(pool)
            }
            _ => Known::Unclear,
        }
    }

    /// The overage of a pool by the rule, where all nodes together have used so much.
    fn rule(&self, overage: &QuotaCount, used: i128) -> Option<i128> {
        let account = self.account(overage)?;
        let limit = account.plan.tariff.limits().find(|limit| limit.name == overage.limit)?;
        let (included, print) = (i128::from(limit.included()?.get()), billed_print(&account.plan));
        let known = self.known(&overage.quota);
        if self.has_others(overage) {
            let is_one = match known {
                Known::Nothing => true,
                Known::All(pool) => pool.is_all_of(print),
                Known::Unclear => false,
            };
            return (is_one && self.others_are_of(overage, print)).then(|| (used - included).max(0));
        }
        match known {
            Known::All(pool) => pool.rule(included, print),
            Known::Nothing | Known::Unclear => None,
        }
    }

    fn others_of<'a>(&'a self, overage: &'a QuotaCount) -> impl Iterator<Item = (&'a str, i128)> + 'a {
        let first = (overage.account.clone(), overage.key, String::new());
        let theirs = self
            .others
            .range(first..)
            .take_while(move |((account, key, _), _)| *account == overage.account && *key == overage.key);
        theirs.map(|((_, _, label), amount)| (label.as_str(), *amount))
    }

    fn has_others(&self, overage: &QuotaCount) -> bool {
        self.others_of(overage).next().is_some()
    }

    /// Whether the others have recorded all that they have under this billed quota. One of an older version does not
    /// say under which: then these sums are not the same.
    fn others_are_of(&self, overage: &QuotaCount, print: BilledPrint) -> bool {
        let label = |measure| with(&overage.quota, measure).label();
        let (name, under) = (label(Measure::Used), label(Measure::BilledUnder(print)));
        let prefix = format!("{}:", label(Measure::Billed));
        let sum = |wanted: &str| -> i128 {
            self.others_of(overage).filter(|(label, _)| *label == wanted).map(|(_, amount)| amount).sum()
        };
        let is_other = |label: &str| label.starts_with(&prefix) && label != under;
        let says_so = self.others_of(overage).any(|(label, _)| label == under);
        let has_recorded = sum(&name) != 0 || sum(&label(Measure::Overage)) != 0;
        sum(&name) == sum(&under)
            && (says_so || !has_recorded)
            && !self.others_of(overage).any(|(label, _)| is_other(label))
    }
}

fn with(quota: &Quota, measure: Measure) -> Quota {
    Quota { measure, ..quota.clone() }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::plan::HomeId;
    use sluicegate_ledger::{Settlement, Unit};

    use super::*;

    const SMALL: BilledPrint = BilledPrint::of(10, 0);
    const LARGE: BilledPrint = BilledPrint::of(100, 0);

    fn record(kind: Kind, billed: BilledPrint, secs: u32, overage: u64) -> Record {
        Record {
            kind,
            at: Timestamp::from_secs(secs),
            charged_at: Timestamp::from_secs(secs),
            decision: 1,
            home: HomeId(2),
            account: 3,
            key: 4,
            key_number: 5,
            route: 6,
            tier: 7,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: 0,
            overage,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed,
        }
    }

    /// What the rule says of these records, each with its cost, under a quota that includes so much.
    fn rule(records: &[(Record, u64)], included: u64, print: BilledPrint) -> Option<i128> {
        let mut pools = Pools::new();
        for (record, cost) in records {
            PoolCount::count(&mut pools, (3, None), record, *cost);
        }
        pools[&(3, None)].rule(i128::from(included), print)
    }

    #[test]
    fn without_a_change_it_is_what_is_used_beyond_the_quota_whatever_was_recorded() {
        let charge = |overage| record(Kind::Charge, SMALL, 100, overage);
        let refund = record(Kind::Refund, SMALL, 101, 0);
        assert_eq!(rule(&[(charge(0), 8)], 10, SMALL), Some(0));
        assert_eq!(rule(&[(charge(0), 80), (charge(0), 40)], 10, SMALL), Some(110));
        assert_eq!(rule(&[(charge(30), 12), (refund, 4)], 10, SMALL), Some(0));
    }

    #[test]
    fn after_a_change_what_was_recorded_is_kept() {
        let before = (record(Kind::Charge, SMALL, 100, 5), 15);
        let after = |cost| (record(Kind::Charge, LARGE, 1_000, 0), cost);
        assert_eq!(rule(&[before], 100, LARGE), Some(5), "nothing was charged since");
        assert_eq!(rule(&[before, after(80)], 100, LARGE), Some(5));
        assert_eq!(rule(&[before, after(90)], 100, LARGE), Some(10));
        let spent = (record(Kind::Charge, LARGE, 100, 0), 80);
        let less = (record(Kind::Charge, SMALL, 1_000, 1), 1);
        assert_eq!(rule(&[spent, less], 10, SMALL), Some(1), "what was included stays included");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let at = |print, secs| (record(Kind::Charge, print, secs, 0), 20);
        assert_eq!(rule(&[at(BilledPrint::UNKNOWN, 1), at(SMALL, 500)], 10, SMALL), None);
        assert_eq!(rule(&[at(SMALL, 500), at(LARGE, 501)], 100, LARGE), None, "amid requests");
        assert_eq!(rule(&[at(SMALL, 1), at(LARGE, 500), at(SMALL, 1_000)], 10, SMALL), None, "to and fro");
        let (owed, cost) = at(SMALL, 1);
        let owed = (Record { flags: Flags::OWED, ..owed }, cost);
        assert_eq!(rule(&[owed, at(LARGE, 500)], 100, LARGE), None, "told when nobody knows");
    }

    #[test]
    fn test_keys_are_not_billed() {
        let mut pools = Pools::new();
        let test = Record { env: KeyEnv::Test, ..record(Kind::Charge, SMALL, 1, 0) };
        PoolCount::count(&mut pools, (3, None), &test, 20);
        assert!(pools.is_empty());
    }
}
