//! Quarters of hours, in UTC: what usage is rolled up by. Every time zone begins its days at the beginning of one.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use jiff::tz::TimeZone;
use sluicegate_core::time::Timestamp;

use crate::hour::Hour;

const SECS: u32 = 900;
const PER_HOUR: u32 = 4;

/// A quarter of an hour, counted from 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Quarter(u32);

impl Quarter {
    /// The first one.
    pub const FIRST: Self = Self(0);
    /// The last one of the last hour.
    pub const LAST: Self = Self(Hour::LAST.number() * PER_HOUR + PER_HOUR - 1);

    /// The quarter in which an instant lies.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.as_secs() / SECS)
    }

    /// The first quarter of an hour.
    pub const fn first_of(hour: Hour) -> Self {
        Self(hour.number() * PER_HOUR)
    }

    /// The quarter of this number, or nothing if it lies behind the last hour.
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::LAST.0 { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Its first instant.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_secs(self.0.saturating_mul(SECS))
    }

    /// The quarter after it.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The hour it lies in.
    pub const fn hour(self) -> Hour {
        match Hour::new(self.0 / PER_HOUR) {
            Some(hour) => hour,
            None => Hour::LAST,
        }
    }

    /// The quarter that begins the day in a time zone.
    pub fn day_in(self, zone: &TimeZone) -> Self {
        let day = self.instant().to_zoned(zone.clone()).start_of_day();
        day.map_or(self, |day| Self::of_instant(day.timestamp()))
    }

    /// The quarter that begins the month in a time zone.
    pub fn month_in(self, zone: &TimeZone) -> Self {
        let zoned = self.instant().to_zoned(zone.clone());
        let month = zoned.first_of_month().and_then(|first| first.start_of_day());
        month.map_or(self, |month| Self::of_instant(month.timestamp()))
    }

    fn instant(self) -> jiff::Timestamp {
        // Every quarter of this type lies within the range of the other.
        jiff::Timestamp::from_second(i64::from(self.0) * i64::from(SECS))
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    fn of_instant(at: jiff::Timestamp) -> Self {
        Self(u32::try_from(at.as_second()).unwrap_or(0) / SECS)
    }
}

/// All quarters of these hours.
pub fn quarters_of(hours: &Range<Hour>) -> Range<Quarter> {
    Quarter::first_of(hours.start)..Quarter(hours.end.number() * PER_HOUR)
}

/// The hours that these quarters touch.
pub fn hours_of(quarters: &Range<Quarter>) -> Range<Hour> {
    let end = quarters.end.0.div_ceil(PER_HOUR).min(crate::hour::ALL_HOURS.end.number());
    quarters.start.hour()..Hour::end_of_range(end)
}

/// All quarters.
pub const ALL_QUARTERS: Range<Quarter> = Quarter::FIRST..Quarter(Quarter::LAST.0 + 1);

/// As RFC 3339 has it: `2026-11-16T05:15:00Z`.
impl fmt::Display for Quarter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.instant().fmt(f)
    }
}

/// The text is not the first instant of a quarter of an hour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAQuarter {
    /// The text.
    pub text: String,
}

impl fmt::Display for NotAQuarter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not the beginning of a quarter of an hour, such as 2026-11-16T05:15:00Z",
            self.text
        )
    }
}

impl std::error::Error for NotAQuarter {}

/// Reads what [`Quarter`] is written as. Other offsets from UTC will do.
impl FromStr for Quarter {
    type Err = NotAQuarter;

    fn from_str(text: &str) -> Result<Self, NotAQuarter> {
        let wrong = || NotAQuarter { text: text.to_owned() };
        let at: jiff::Timestamp = text.trim().parse().map_err(|_| wrong())?;
        let secs = u32::try_from(at.as_second()).map_err(|_| wrong())?;
        let is_whole = at.subsec_nanosecond() == 0 && secs.is_multiple_of(SECS);
        if is_whole { Ok(Self(secs / SECS)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_written_and_read_as_its_first_instant() {
        let quarter = Quarter::of(Timestamp::from_secs(1_790_000_500));
        assert_eq!(quarter.to_string(), "2026-09-21T14:15:00Z");
        assert_eq!("2026-09-21T20:00:00+05:45".parse(), Ok(quarter));
        assert_eq!(quarter.hour().to_string(), "2026-09-21T14:00:00Z");
        for wrong in ["2026-09-21T14:10:00Z", "2026-09-21T14:15:01Z", "2026-09-21", ""] {
            assert!(wrong.parse::<Quarter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn days_and_months_begin_where_the_zone_has_them() {
        let quarter: Quarter = "2026-10-31T18:15:00Z".parse().unwrap();
        let kathmandu = TimeZone::get("Asia/Kathmandu").unwrap();
        assert_eq!(quarter.day_in(&kathmandu), quarter, "midnight of November 1 there");
        assert_eq!(quarter.month_in(&kathmandu), quarter);
        assert_eq!(quarter.day_in(&TimeZone::UTC).to_string(), "2026-10-31T00:00:00Z");
        assert_eq!(quarter.month_in(&TimeZone::UTC).to_string(), "2026-10-01T00:00:00Z");
        let before = Quarter::new(quarter.number() - 1).unwrap();
        assert_eq!(before.month_in(&kathmandu).to_string(), "2026-09-30T18:15:00Z");
    }

    #[test]
    fn quarters_and_hours_have_the_same_ends() {
        let all = quarters_of(&crate::hour::ALL_HOURS);
        assert_eq!(all, ALL_QUARTERS);
        assert_eq!(hours_of(&all), crate::hour::ALL_HOURS);
        let half: Range<Quarter> = Quarter(5)..Quarter(7);
        assert_eq!(hours_of(&half), Hour::new(1).unwrap()..Hour::new(2).unwrap());
        assert_eq!(Quarter::of(Timestamp::MAX).hour(), Hour::LAST);
    }
}
