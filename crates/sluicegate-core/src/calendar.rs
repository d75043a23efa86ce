//! Calendar periods: days and months in a time zone, and billing months that start on an account's own day.

use std::sync::atomic::{AtomicU64, Ordering};

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
        if day >= 1 && day <= 31 { Some(Self(day)) } else { None }
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
        Self { unit, zone: TimeZone::UTC, billing_day: BillingDay::FIRST }
    }

    /// The same unit as an account sees it. A zone is known by its IANA name; one without a name cannot be
    /// written down and counts as UTC.
    pub fn for_account(&self, zone: TimeZone, billing_day: BillingDay) -> Self {
        let zone = if zone.iana_name().is_some() { zone } else { TimeZone::UTC };
        // A calendar month is the same whatever the billing day: equal meanings must be equal values.
        let billing_day = match self.unit {
            CalendarUnit::BillingMonth => billing_day,
            CalendarUnit::Day | CalendarUnit::Month => BillingDay::FIRST,
        };
        Self { unit: self.unit, zone, billing_day }
    }

    /// The unit.
    pub fn unit(&self) -> CalendarUnit {
        self.unit
    }

    /// The IANA name of the zone in which its periods begin.
    pub fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The day on which its billing months begin; for other units the first.
    pub fn billing_day(&self) -> BillingDay {
        self.billing_day
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
        Period { start: self.midnight(first), end: self.midnight(after) }
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

    /// The first instant of `date` in the zone. Where a clock change skips midnight, the day starts after the
    /// gap; where it repeats midnight, at the first of the two.
    fn midnight(&self, date: Date) -> Timestamp {
        let local = date.to_datetime(Time::midnight());
        let offset = match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        };
        let second = offset.to_timestamp(local).map_or(i64::MAX, jiff::Timestamp::as_second);
        Timestamp::from_secs(u32::try_from(second.max(0)).unwrap_or(u32::MAX))
    }
}

fn next_month(day: Date) -> Date {
    day.last_of_month().tomorrow().unwrap_or(Date::MAX)
}

fn previous_month(day: Date) -> Date {
    day.first_of_month().yesterday().unwrap_or(Date::MIN).first_of_month()
}

/// The period last asked of one calendar, so that the calendar is asked once a period and not once a request.
///
/// It changes no answer: asking for an instant outside the remembered period asks the calendar.
#[derive(Debug, Default)]
pub struct PeriodMemo(AtomicU64);

impl PeriodMemo {
    /// The period of `calendar` that `now` lies in. A memo serves one calendar.
    #[inline]
    pub fn period(&self, calendar: &Calendar, now: Timestamp) -> Period {
        // Start and end in one word: a reader never sees halves of two periods.
        let packed = self.0.load(Ordering::Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half of the word")]
        let end = Timestamp::from_secs(packed as u32);
        let remembered = Period { start: Timestamp::from_secs((packed >> 32) as u32), end };
        if remembered.contains(now) {
            return remembered;
        }
        let period = calendar.period_at(now);
        let packed = u64::from(period.start.as_secs()) << 32 | u64::from(period.end.as_secs());
        self.0.store(packed, Ordering::Relaxed);
        period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_secs(u32::try_from(text.parse::<jiff::Timestamp>().unwrap().as_second()).unwrap())
    }

    #[track_caller]
    fn check(unit: CalendarUnit, zone: &str, day: u8, now: &str, start: &str, end: &str) {
        let zone = TimeZone::get(zone).unwrap();
        let calendar = Calendar::utc(unit).for_account(zone, BillingDay::new(day).unwrap());
        assert_eq!(calendar.period_at(at(now)), Period { start: at(start), end: at(end) });
    }

    #[test]
    fn months_and_days_in_utc() {
        use CalendarUnit::{Day, Month};
        check(Month, "UTC", 1, "2026-11-15T12:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
        check(Month, "UTC", 1, "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z");
        check(Month, "UTC", 1, "2028-02-29T00:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z");
        check(Day, "UTC", 1, "2026-11-15T00:00:00Z", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z");
        check(Day, "UTC", 1, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z");
    }

    #[test]
    fn a_billing_day_of_31_is_the_last_day_of_shorter_months() {
        use CalendarUnit::BillingMonth;
        check(
            BillingMonth,
            "UTC",
            31,
            "2026-02-27T00:00:00Z",
            "2026-01-31T00:00:00Z",
            "2026-02-28T00:00:00Z",
        );
        check(
            BillingMonth,
            "UTC",
            31,
            "2026-02-28T00:00:00Z",
            "2026-02-28T00:00:00Z",
            "2026-03-31T00:00:00Z",
        );
        check(
            BillingMonth,
            "UTC",
            31,
            "2028-03-30T00:00:00Z",
            "2028-02-29T00:00:00Z",
            "2028-03-31T00:00:00Z",
        );
        check(
            BillingMonth,
            "UTC",
            15,
            "2026-11-14T23:59:59Z",
            "2026-10-15T00:00:00Z",
            "2026-11-15T00:00:00Z",
        );
        check(
            BillingMonth,
            "UTC",
            15,
            "2026-11-15T00:00:00Z",
            "2026-11-15T00:00:00Z",
            "2026-12-15T00:00:00Z",
        );
    }

    #[test]
    fn days_of_23_and_25_hours_where_the_clocks_change() {
        use CalendarUnit::Day;
        check(
            Day,
            "Europe/Vienna",
            1,
            "2026-03-29T12:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
        );
        check(
            Day,
            "Europe/Vienna",
            1,
            "2026-10-25T12:00:00Z",
            "2026-10-24T22:00:00Z",
            "2026-10-25T23:00:00Z",
        );
    }

    #[test]
    fn a_day_whose_midnight_is_skipped_starts_after_the_gap() {
        // Santiago moved its clocks from 24:00 on 2023-09-02 to 01:00 on the 3rd.
        use CalendarUnit::Day;
        check(
            Day,
            "America/Santiago",
            1,
            "2023-09-03T12:00:00Z",
            "2023-09-03T04:00:00Z",
            "2023-09-04T03:00:00Z",
        );
        check(
            Day,
            "America/Santiago",
            1,
            "2023-09-03T03:59:59Z",
            "2023-09-02T04:00:00Z",
            "2023-09-03T04:00:00Z",
        );
    }

    #[test]
    fn every_second_around_a_change_lies_in_its_own_period() {
        for zone in ["UTC", "Europe/Vienna", "America/Santiago", "Asia/Kathmandu", "Pacific/Apia"] {
            for day in [1, 15, 29, 30, 31] {
                let calendar = Calendar::utc(CalendarUnit::BillingMonth)
                    .for_account(TimeZone::get(zone).unwrap(), BillingDay::new(day).unwrap());
                let mut now = at("2027-12-20T00:00:00Z");
                for _ in 0..30 {
                    let period = calendar.period_at(now);
                    assert!(
                        period.contains(now) && calendar.period_at(period.start) == period,
                        "{zone} {day} {now:?}"
                    );
                    assert_eq!(calendar.period_at(period.end).start, period.end, "{zone} {day} {now:?}");
                    now = period.end;
                }
            }
        }
    }

    #[test]
    fn a_memo_answers_as_the_calendar_does() {
        let (calendar, memo) = (Calendar::utc(CalendarUnit::Day), PeriodMemo::default());
        for now in
            ["2026-11-15T00:00:00Z", "2026-11-15T23:59:59Z", "2026-11-16T00:00:00Z", "2026-11-15T01:00:00Z"]
        {
            assert_eq!(memo.period(&calendar, at(now)), calendar.period_at(at(now)));
        }
    }
}
