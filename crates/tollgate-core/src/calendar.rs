//! Calendar periods: days and months in a time zone, and billing months that start on an account's own day.

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::time::{Nanos, Timestamp};

/// The day of the month on which an account's billing month starts, 1 to 31. In a shorter month it is the last day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BillingDay(u8);

impl BillingDay {
    /// The first of the month.
    pub const FIRST: Self = Self(1);

    /// Day `day`, or nothing outside 1 to 31.
    pub const fn new(day: u8) -> Option<Self> {
        if day >= 1 && day <= 31 {
            Some(Self(day))
        } else {
            None
        }
    }

    /// The number of the day.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Which stretches of the calendar a quota is counted over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CalendarUnit {
    /// From midnight to midnight.
    Day,
    /// From the first of a month to the first of the next.
    Month,
    /// From the account's billing day to the next one.
    BillingMonth,
}

/// A calendar unit with the zone and the billing day that give it meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calendar {
    unit: CalendarUnit,
    zone: TimeZone,
    billing_day: BillingDay,
}

/// One period of a calendar: from `start` up to, and without, `end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Period {
    /// The first second of the period.
    pub start: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
}

impl Period {
    /// How long the period lasts.
    pub fn length(self) -> Nanos {
        self.end.since(self.start)
    }

    /// Whether `at` lies in it.
    pub fn contains(self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }
}

impl Calendar {
    /// The unit in UTC, billing months starting on the first: what an account has that names nothing else.
    pub fn utc(unit: CalendarUnit) -> Self {
        Self {
            unit,
            zone: TimeZone::UTC,
            billing_day: BillingDay::FIRST,
        }
    }

    /// The same unit as an account sees it.
    pub fn for_account(&self, zone: TimeZone, billing_day: BillingDay) -> Self {
        // A calendar month is the same whatever the billing day: equal meanings must be equal values.
        let billing_day = match self.unit {
            CalendarUnit::BillingMonth => billing_day,
            CalendarUnit::Day | CalendarUnit::Month => BillingDay::FIRST,
        };
        Self {
            unit: self.unit,
            zone,
            billing_day,
        }
    }

    /// The unit.
    pub fn unit(&self) -> CalendarUnit {
        self.unit
    }

    /// The period that `now` lies in.
    pub fn period_at(&self, now: Timestamp) -> Period {
        let instant =
            jiff::Timestamp::from_second(i64::from(now.as_secs())).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let today = self.zone.to_datetime(instant).date();
        let (first, after) = match self.unit {
            CalendarUnit::Day => (today, today.tomorrow().unwrap_or(Date::MAX)),
            CalendarUnit::Month | CalendarUnit::BillingMonth => self.month_around(today),
        };
        Period {
            start: self.midnight(first),
            end: self.midnight(after),
        }
    }

    /// The billing month that holds `day`: its first day, and the first day of the next one.
    fn month_around(&self, day: Date) -> (Date, Date) {
        let here = self.anchor_in(day.first_of_month());
        if day >= here {
            (here, self.anchor_in(next_month(day)))
        } else {
            (self.anchor_in(previous_month(day)), here)
        }
    }

    /// The billing day in the month that `first` begins, clamped to the month's last day.
    #[expect(clippy::cast_possible_wrap, reason = "a billing day is at most 31")]
    fn anchor_in(&self, first: Date) -> Date {
        let day = (self.billing_day.get() as i8).min(first.days_in_month());
        first.with().day(day).build().unwrap_or(first)
    }

    /// The first instant of `date` in the zone. Where a clock change skips midnight, the day starts after the gap; where it
    /// repeats midnight, at the first of the two.
    fn midnight(&self, date: Date) -> Timestamp {
        let local = date.to_datetime(Time::midnight());
        let offset = match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        };
        let second = offset
            .to_timestamp(local)
            .map_or(i64::MAX, jiff::Timestamp::as_second);
        Timestamp::from_secs(u32::try_from(second.max(0)).unwrap_or(u32::MAX))
    }
}

fn next_month(day: Date) -> Date {
    day.last_of_month().tomorrow().unwrap_or(Date::MAX)
}

fn previous_month(day: Date) -> Date {
    day.first_of_month()
        .yesterday()
        .unwrap_or(Date::MIN)
        .first_of_month()
}
