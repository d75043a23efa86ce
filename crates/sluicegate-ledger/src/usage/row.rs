//! One row of usage: whose, of what, in which quarter of an hour, and how much.

use std::ops::{AddAssign, BitOr};

use sluicegate_core::key_env::KeyEnv;

use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::record::{Flags, Kind, Record, Unit};
use crate::spool::Position;

/// What is said of all records of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Marks(u8);

impl Marks {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// They were recorded later than they were decided, or when the hour of their charge was closed already.
    pub const LATE: Self = Self(1);
    /// They were decided while a part of the system was missing.
    pub const DEGRADED: Self = Self(1 << 1);
    /// They were rolled up by the hour: the row holds all of its hour, and stands at the first quarter of it.
    pub const HOURLY: Self = Self(1 << 2);
    /// They are of a test key.
    pub const TEST: Self = Self(1 << 3);
    /// All of them.
    const ALL: Self = Self((1 << 4) - 1);

    /// Whether all of `other` are in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The number it is kept as.
    pub(crate) const fn number(self) -> u8 {
        self.0
    }

    /// The marks of this number. Bits that mean nothing are not taken for marks.
    pub(crate) const fn from_number(number: u8) -> Option<Self> {
        if number <= Self::ALL.0 { Some(Self(number)) } else { None }
    }

    fn of(record: &Record) -> Self {
        let known = [(Flags::LATE, Self::LATE), (Flags::DEGRADED, Self::DEGRADED)];
        let set = known.into_iter().filter(|(flag, _)| record.flags.contains(*flag));
        let env = if record.env == KeyEnv::Test { Self::TEST } else { Self::NONE };
        set.fold(env, |marks, (_, mark)| marks | mark)
    }

    /// What the keys of its records are for.
    pub const fn env(self) -> KeyEnv {
        if self.contains(Self::TEST) { KeyEnv::Test } else { KeyEnv::Live }
    }
}

impl BitOr for Marks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whose usage, of what, in which quarter of an hour. Numbers as records have them; 0: none. Keys have the order of the
/// book.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowKey {
    /// The quarter it was recorded in. Of a record that came when its hour was closed, the first that was open.
    pub quarter: Quarter,
    /// The serial of the account.
    pub account: u64,
    /// The serial of the key.
    pub key: u64,
    /// The number of the route's name.
    pub route: u32,
    /// The number of the tier's name.
    pub tier: u32,
    /// What its amounts count.
    pub unit: Unit,
    /// What is said of it.
    pub marks: Marks,
    /// The quarter in which its charge was made, where that is another.
    pub charge: Option<Quarter>,
}

impl RowKey {
    /// Where a record is counted when the hours before `open` are closed.
    pub(crate) fn of(record: &Record, open: Hour) -> Self {
        let row = Self::recorded(record, open);
        let charge = Quarter::of(record.first_charged_at());
        // An instant that was not noted is the first of all.
        let charge = Some(charge).filter(|it| *it != row.quarter && *it != Quarter::FIRST);
        let is_late = charge.is_some_and(|charge| charge.hour() < open);
        Self { marks: if is_late { row.marks | Marks::LATE } else { row.marks }, charge, ..row }
    }

    /// The same row as it was rolled up before rows said when their charge was made.
    fn recorded(record: &Record, open: Hour) -> Self {
        let decided = Quarter::of(record.at);
        let marks = Marks::of(record);
        let is_late = decided.hour() < open;
        let (quarter, marks) =
            if is_late { (Quarter::first_of(open), marks | Marks::LATE) } else { (decided, marks) };
        let Record { account, key, route, tier, unit, .. } = *record;
        Self { quarter, account, key, route, tier, unit, marks, charge: None }
    }

    /// The same row as it was rolled up before there were quarters.
    fn hourly(self) -> Self {
        let quarter = Quarter::first_of(self.hour());
        Self { quarter, marks: self.marks | Marks::HOURLY, charge: None, ..self }
    }

    /// The hour it was recorded in: when that is closed, the row is final.
    pub const fn hour(&self) -> Hour {
        self.quarter.hour()
    }

    /// The quarter it counts in: that of its charge.
    pub const fn charge_quarter(&self) -> Quarter {
        match self.charge {
            Some(charge) => charge,
            None => self.quarter,
        }
    }
}

/// By which rules records become rows. What earlier versions rolled up stays as they did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RowRules {
    /// Records before this position were rolled up by the hour.
    pub(crate) hourly_before: Position,
    /// Records before this position were rolled up without the quarter of their charge.
    pub(crate) recorded_before: Position,
}

impl RowRules {
    /// Where the record at `position` is counted when the hours before `open` are closed.
    #[inline]
    pub(crate) fn key(&self, position: Position, record: &Record, open: Hour) -> RowKey {
        if position < self.hourly_before {
            RowKey::recorded(record, open).hourly()
        } else if position < self.recorded_before {
            RowKey::recorded(record, open)
        } else {
            RowKey::of(record, open)
        }
    }
}

/// What records come to. None of it is ever negative, but the difference may be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sums {
    /// Requests that were admitted.
    pub requests: i128,
    /// What was charged for them at first.
    pub charged: i128,
    /// What they turned out to cost more.
    pub corrected: i128,
    /// What was given back, of these or of earlier ones.
    pub refunded: i128,
    /// How much of what was charged and corrected went beyond the quota.
    pub overage: i128,
    /// How much of what was given back had gone beyond the quota.
    pub overage_refunded: i128,
}

impl Sums {
    /// What a single record comes to.
    pub(crate) fn of(record: &Record) -> Self {
        let (cost, overage) = (i128::from(record.cost), i128::from(record.overage));
        match record.kind {
            Kind::Charge => Self { requests: 1, charged: cost, overage, ..Self::default() },
            Kind::Correction => Self { corrected: cost, overage, ..Self::default() },
            Kind::Refund => Self { refunded: cost, overage_refunded: overage, ..Self::default() },
        }
    }

    /// What was used after all. Negative where more was given back than was used.
    pub const fn total(&self) -> i128 {
        self.charged + self.corrected - self.refunded
    }

    /// How much of it went beyond the quota.
    pub const fn net_overage(&self) -> i128 {
        self.overage - self.overage_refunded
    }

    /// The numbers in the order of the columns.
    pub(crate) const fn numbers(&self) -> [i128; 6] {
        [self.requests, self.charged, self.corrected, self.refunded, self.overage, self.overage_refunded]
    }

    /// From the numbers in the order of the columns.
    pub(crate) const fn from_numbers(numbers: [i128; 6]) -> Self {
        let [requests, charged, corrected, refunded, overage, overage_refunded] = numbers;
        Self { requests, charged, corrected, refunded, overage, overage_refunded }
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        let (mine, others) = (self.numbers(), other.numbers());
        *self = Self::from_numbers(std::array::from_fn(|at| mine[at] + others[at]));
    }
}

/// One row of usage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Row {
    /// Whose usage, of what, when.
    pub key: RowKey,
    /// How much.
    pub sums: Sums,
}
