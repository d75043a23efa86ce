//! The sums of a ledger, by account and by the instant of the charge.

use std::collections::BTreeMap;

use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Kind, Record};

/// What records say that was used and what was over, by the serial of the account.
#[derive(Default)]
pub(crate) struct Sums(BTreeMap<u64, Vec<(Timestamp, i128, i128)>>);

impl Sums {
    pub(crate) fn add(&mut self, record: &Record) {
        let sign = if record.kind == Kind::Refund { -1 } else { 1 };
        let entry = (record.charged_at, sign * i128::from(record.cost), sign * i128::from(record.overage));
        self.0.entry(record.account).or_default().push(entry);
    }

    /// Used and over of one account, by period. Periods without usage are left out.
    pub(crate) fn of(&self, account: u64, start: impl Fn(Timestamp) -> u64) -> BTreeMap<u64, (u64, u64)> {
        let mut periods: BTreeMap<u64, (i128, i128)> = BTreeMap::new();
        for (at, used, overage) in self.0.get(&account).into_iter().flatten() {
            let period = periods.entry(start(*at)).or_default();
            *period = (period.0 + used, period.1 + overage);
        }
        periods.retain(|_, totals| *totals != (0, 0));
        let count = |number: i128| u64::try_from(number).unwrap();
        periods.into_iter().map(|(start, (used, overage))| (start, (count(used), count(overage)))).collect()
    }
}
