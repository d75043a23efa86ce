//! Comparing what two sides say was used: the ledger and meters, the ledger and sealed files, the ledger and a bill.

mod bill;

use std::collections::{BTreeMap, BTreeSet};

pub use bill::{BillProblem, read_bill};

use crate::export::{ExportError, Lexicon, Names};
use crate::hour::Hour;
use crate::quarter::quarters_of;
use crate::usage::{Book, RowKey};

/// What accounts used, by the hour, or over the whole time where the hour is not known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Totals(BTreeMap<(String, Option<Hour>), i128>);

impl Totals {
    /// Adds to what an account used. Callers without a key are the account without a name.
    pub fn add(&mut self, account: &str, hour: Option<Hour>, amount: i128) {
        *self.0.entry((account.to_owned(), hour)).or_default() += amount;
    }

    /// What an account used in an hour, or over the whole time.
    pub fn get(&self, account: &str, hour: Option<Hour>) -> i128 {
        self.0.get(&(account.to_owned(), hour)).copied().unwrap_or_default()
    }

    /// The same over the whole time.
    #[must_use]
    pub fn without_hours(&self) -> Self {
        let mut totals = Self::default();
        for ((account, _), amount) in &self.0 {
            totals.add(account, None, *amount);
        }
        totals
    }

    /// The same without callers that have no account.
    #[must_use]
    pub fn of_accounts(mut self) -> Self {
        self.0.retain(|(account, _), _| !account.is_empty());
        self
    }

    /// Adds all of the other.
    pub fn merge(&mut self, other: Self) {
        for (key, amount) in other.0 {
            *self.0.entry(key).or_default() += amount;
        }
    }

    /// Whether all of it is known by the hour.
    fn is_by_hour(&self) -> bool {
        self.0.keys().all(|(_, hour)| hour.is_some())
    }

    /// What was recorded in these hours.
    pub fn recorded(
        book: &Book,
        hours: std::ops::Range<Hour>,
        names: &dyn Names,
    ) -> Result<Self, ExportError> {
        let mut lexicon = Lexicon::new(names);
        let mut totals = Self::default();
        book.each_row(quarters_of(&hours), |row| -> Result<(), ExportError> {
            let account = lexicon.account(row.key.account)?;
            totals.add(account.as_deref().unwrap_or_default(), Some(row.key.hour()), row.sums.total());
            Ok(())
        })?;
        Ok(totals)
    }

    /// What was charged in these hours, with later corrections, in the rows that are wanted.
    pub fn charged(
        book: &Book,
        hours: std::ops::Range<Hour>,
        names: &dyn Names,
        is_wanted: impl Fn(&RowKey) -> bool,
    ) -> Result<Self, ExportError> {
        let mut lexicon = Lexicon::new(names);
        let mut totals = Self::default();
        book.each_row_by_charge(quarters_of(&hours), |row| -> Result<(), ExportError> {
            if !is_wanted(&row.key) {
                return Ok(());
            }
            let (account, hour) = (lexicon.account(row.key.account)?, row.key.charge_quarter().hour());
            totals.add(account.as_deref().unwrap_or_default(), Some(hour), row.sums.total());
            Ok(())
        })?;
        Ok(totals)
    }
}

/// What two sides do not agree on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Difference {
    /// Whose usage.
    pub account: String,
    /// In which hour, or over the whole time if one side does not know the hours.
    pub hour: Option<Hour>,
    /// What the one says.
    pub left: i128,
    /// What the other says.
    pub right: i128,
}

/// Everything that two sides do not agree on, by account and hour. If one of them does not know the hours, both are
/// compared over the whole time. What a side does not mention it says is nothing.
pub fn compare(left: &Totals, right: &Totals) -> Vec<Difference> {
    if !(left.is_by_hour() && right.is_by_hour()) {
        return compare_keys(&left.without_hours(), &right.without_hours());
    }
    compare_keys(left, right)
}

fn compare_keys(left: &Totals, right: &Totals) -> Vec<Difference> {
    let keys: BTreeSet<&(String, Option<Hour>)> = left.0.keys().chain(right.0.keys()).collect();
    let sides = keys.into_iter().map(|key| {
        let side = |totals: &Totals| totals.0.get(key).copied().unwrap_or_default();
        Difference { account: key.0.clone(), hour: key.1, left: side(left), right: side(right) }
    });
    sides.filter(|difference| difference.left != difference.right).collect()
}

/// How far two sides are apart: what a metric shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drift {
    /// How many accounts they do not agree on.
    pub accounts: u64,
    /// By how much, whichever side says more.
    pub units: u128,
}

impl Drift {
    /// Of these differences.
    pub fn of(differences: &[Difference]) -> Self {
        let accounts: BTreeSet<&str> = differences.iter().map(|it| it.account.as_str()).collect();
        let units = differences.iter().map(|it| it.left.abs_diff(it.right)).sum();
        Self { accounts: accounts.len() as u64, units }
    }
}

impl From<BTreeMap<(String, Option<Hour>), i128>> for Totals {
    fn from(totals: BTreeMap<(String, Option<Hour>), i128>) -> Self {
        Self(totals)
    }
}
