//! Asking for usage: what the book says, and the records behind it that are not in it yet.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::tz::TimeZone;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::book::{self, Book};
use super::error::{BookError, RollError};
use super::row::{Marks, RowKey, Sums};
use crate::hour::Hour;
use crate::quarter::{ALL_QUARTERS, Quarter};
use crate::record::Record;
use crate::spool::{ReadError, Spool};

/// How often to begin anew when segments are removed while they are being read.
const TRIES_MAX: usize = 5;

/// How long each point of a series is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Step {
    /// A quarter of an hour.
    Quarter,
    /// An hour.
    #[default]
    Hour,
    /// A day.
    Day,
    /// A month.
    Month,
}

impl Step {
    /// The first quarter of the step in which this quarter lies, where days and months begin as in `zone`.
    pub fn start(self, quarter: Quarter, zone: &TimeZone) -> Quarter {
        match self {
            Self::Quarter => quarter,
            Self::Hour => Quarter::first_of(quarter.hour()),
            Self::Day => quarter.day_in(zone),
            Self::Month => quarter.month_in(zone),
        }
    }
}

/// Which usage is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// Of this account only, by its serial; 0 are callers without a key.
    pub account: Option<u64>,
    /// Of this key only, by its serial.
    pub key: Option<u64>,
    /// Of this route only, by its number.
    pub route: Option<u32>,
    /// Charged in these quarters of hours.
    pub quarters: Range<Quarter>,
    /// How long each point of the series is.
    pub step: Step,
    /// The time zone in which days and months begin.
    pub zone: TimeZone,
}

impl Default for Query {
    fn default() -> Self {
        let (quarters, step, zone) = (ALL_QUARTERS, Step::Hour, TimeZone::UTC);
        Self { account: None, key: None, route: None, quarters, step, zone }
    }
}

/// Usage in a part of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Where it begins.
    pub start: Quarter,
    /// How much was used.
    pub sums: Sums,
}

/// What was used.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// All of it.
    pub sums: Sums,
    /// What of it was recorded when the hour of its charge was closed already.
    pub late: Sums,
    /// What of it was decided while a part of the system was missing.
    pub degraded: Sums,
    /// What of it is of test keys.
    pub test: Sums,
    /// The same by the time of the charge, in order, without the parts in which nothing was recorded.
    pub series: Vec<Point>,
    /// Hours before this one are closed: what was recorded in them is final. What is recorded later for charges of
    /// theirs is marked as late.
    pub open: Hour,
    /// Slots of the whole spool that hold something which is not a record. They are in no sum: if it is not zero,
    /// less may be counted than was used.
    pub torn: u64,
}

impl Book {
    /// What was used up to this moment, whether it is rolled up or not.
    pub fn query(&self, spool: &Spool, query: &Query) -> Result<Usage, RollError> {
        let mut tried = 1;
        loop {
            match self.query_once(spool, query) {
                // Rolled up and removed by others since the book was read.
                Err(RollError::Gap { .. }) if tried < TRIES_MAX => tried += 1,
                other => return other,
            }
        }
    }

    fn query_once(&self, spool: &Spool, query: &Query) -> Result<Usage, RollError> {
        let mut count = Count { query, usage: Usage::default(), series: BTreeMap::new() };
        let (standing, rules) = {
            let mut reader = self.reader.lock();
            // One transaction: sums and the position they reach belong together.
            let transaction = reader.transaction()?;
            count.add_book(&transaction)?;
            (book::standing(&transaction)?, book::row_rules(&transaction)?)
        };
        let first = spool.first();
        let (from, open, torn) =
            standing.map_or((first, Hour::FIRST, 0), |it| (it.position, it.open, it.torn));
        let report = match spool
            .read(from, |position, record| count.add_record(&rules.key(position, record, open), record))
        {
            // A book that was never rolled has no position to be overtaken at.
            Err(ReadError::Forgotten { from, first }) => return Err(RollError::Gap { from, first }),
            other => other?,
        };
        let series = count.series.into_iter().map(|(start, sums)| Point { start, sums }).collect();
        Ok(Usage { series, open, torn: torn + report.torn, ..count.usage })
    }
}

/// An answer that is being added up.
struct Count<'q> {
    query: &'q Query,
    usage: Usage,
    series: BTreeMap<Quarter, Sums>,
}

impl Count<'_> {
    fn add(&mut self, quarter: Quarter, marks: Marks, sums: Sums) {
        self.usage.sums += sums;
        if marks.contains(Marks::LATE) {
            self.usage.late += sums;
        }
        if marks.contains(Marks::DEGRADED) {
            self.usage.degraded += sums;
        }
        if marks.contains(Marks::TEST) {
            self.usage.test += sums;
        }
        let start = self.query.step.start(quarter, &self.query.zone);
        *self.series.entry(start).or_default() += sums;
    }

    fn add_record(&mut self, key: &RowKey, record: &Record) {
        let Query { account, key: key_serial, route, quarters, .. } = self.query;
        let is_wanted = account.is_none_or(|it| it == key.account)
            && key_serial.is_none_or(|it| it == key.key)
            && route.is_none_or(|it| it == key.route)
            && quarters.contains(&key.charge_quarter());
        let sums = Sums::of(record);
        // What says only that a permit is held or finished makes no row in the book either.
        if is_wanted && sums != Sums::default() {
            self.add(key.charge_quarter(), key.marks, sums);
        }
    }

    fn add_book(&mut self, connection: &Connection) -> Result<(), BookError> {
        let (sql, values) = select(self.query);
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let marks = Marks::from_number(row.get(1)?)
                .ok_or_else(|| BookError::Damaged("marks that mean nothing".to_owned()))?;
            self.add(book::quarter(row.get(0)?)?, marks, book::sums(row, 2)?);
        }
        Ok(())
    }
}

/// The rows that a query wants, in as few of them as will do: those of their own quarter, and those of earlier charges,
/// which have an index.
fn select(query: &Query) -> (String, Vec<Value>) {
    let mut values = vec![query.quarters.start.number().into(), query.quarters.end.number().into()];
    let own = select_part(query, "d.charge_quarter = 0 AND d.quarter", "d.quarter", &mut values);
    let is_earlier = "d.charge_quarter <> 0 AND d.charge_quarter";
    let earlier = select_part(query, is_earlier, "d.charge_quarter", &mut values);
    (format!("{own} UNION ALL {earlier}"), values)
}

fn select_part(query: &Query, is_part: &str, quarter: &str, values: &mut Vec<Value>) -> String {
    let serial = |serial: u64| Value::from(serial.cast_signed());
    let mut wheres = format!("{is_part} >= ?1 AND {quarter} < ?2");
    let mut also = |column: &str, value: Value| {
        values.push(value);
        wheres.push_str(&format!(" AND {column} = ?{}", values.len()));
    };
    let is_whole = query.key.is_none() && query.route.is_none();
    let from = match query.account {
        Some(account) if is_whole => {
            also("d.account", serial(account));
            "account_quarters d"
        }
        // The quarters in which there is anything of the account lead to its rows in them.
        Some(account) => {
            let of_account =
                format!("{} >= ?1 AND {} < ?2", is_part.replace("d.", "a."), quarter.replace("d.", "a."));
            also("a.account", serial(account));
            also(&format!("{of_account} AND d.account"), serial(account));
            "account_quarters a CROSS JOIN quarters d \
             ON d.quarter = a.quarter AND d.unit = a.unit AND d.marks = a.marks \
             AND d.charge_quarter = a.charge_quarter"
        }
        None => "quarters d",
    };
    for (column, value) in [("d.key", query.key.map(serial)), ("d.route", query.route.map(Value::from))] {
        value.into_iter().for_each(|value| also(column, value));
    }
    let sums = "d.requests, d.charged, d.corrected, d.refunded, d.overage, d.overage_refunded";
    format!("SELECT {quarter}, d.marks, {sums} FROM {from} WHERE {wheres}")
}
