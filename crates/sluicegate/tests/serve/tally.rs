//! The outside count of what was answered, to be held against the ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sluicegate_engine::DecisionId;
use sluicegate_ledger::{Kind, Spool, SpoolSettings};

/// What clients saw of one account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The decisions that were answered with yes.
    pub(crate) admitted: BTreeSet<u128>,
    /// Requests that were sent and never answered.
    pub(crate) cut_off: u64,
    /// Requests that were answered with "quota spent".
    pub(crate) refused: u64,
}

/// What clients saw, by account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(pub(crate) BTreeMap<String, Seen>);

impl Tally {
    pub(crate) fn of(&mut self, account: &str) -> &mut Seen {
        self.0.entry(account.to_owned()).or_default()
    }

    /// A decision was answered with yes. No decision is answered twice.
    pub(crate) fn admit(&mut self, account: &str, decision: &str) {
        let id = DecisionId::parse(decision).unwrap_or_else(|| panic!("{decision:?} is no decision"));
        assert!(self.of(account).admitted.insert(id.0), "{decision} was answered twice");
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (account, seen) in other.0 {
            let sum = self.of(&account);
            sum.admitted.extend(seen.admitted);
            sum.cut_off += seen.cut_off;
            sum.refused += seen.refused;
        }
    }
}

/// What the ledger has of one account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Charged {
    /// How often each decision is there.
    pub(crate) decisions: BTreeMap<u128, u64>,
    pub(crate) cost: u64,
}

/// What the ledger of a server has that does not run, by the serials of accounts.
pub(crate) fn ledger(spool: &Path) -> BTreeMap<u64, Charged> {
    let spool = Spool::open(spool, SpoolSettings::default()).unwrap();
    let mut accounts: BTreeMap<u64, Charged> = BTreeMap::new();
    let report = spool.read(spool.first(), |_, record| {
        // That a call of the store was cut off is on record, too, and counts for nothing.
        if record.lost_call().is_some() {
            assert_eq!((record.cost, record.overage), (0, 0), "{record:?}");
            return;
        }
        assert_eq!(record.kind, Kind::Charge, "{record:?}");
        let charged = accounts.entry(record.account).or_default();
        *charged.decisions.entry(record.decision).or_default() += 1;
        charged.cost += record.cost;
    });
    assert_eq!(report.unwrap().next, spool.tail());
    accounts
}

/// Every answer is in the ledger exactly once, and what is there beyond the answers are requests that were cut off.
/// Returns what each account was charged.
#[track_caller]
pub(crate) fn reconcile(tally: &Tally, ledger: &BTreeMap<u64, Charged>) -> BTreeMap<String, u64> {
    let mut costs = BTreeMap::new();
    for (account, seen) in &tally.0 {
        // Who was never admitted is nobody in the ledger that could be told by an answer.
        let Some(first) = seen.admitted.first() else { continue };
        let charged = ledger.values().find(|charged| charged.decisions.contains_key(first));
        let charged = charged.unwrap_or_else(|| panic!("{account} is not in the ledger: {first:x}"));
        for decision in &seen.admitted {
            let times = charged.decisions.get(decision);
            assert_eq!(times, Some(&1), "{account}: {}", DecisionId(*decision));
        }
        assert!(charged.decisions.values().all(|times| *times == 1), "{account} was charged twice");
        let unanswered = (charged.decisions.len() - seen.admitted.len()) as u64;
        assert!(
            unanswered <= seen.cut_off,
            "{account}: {unanswered} charges without an answer, but only {} requests were cut off",
            seen.cut_off
        );
        costs.insert(account.clone(), charged.cost);
    }
    costs
}
