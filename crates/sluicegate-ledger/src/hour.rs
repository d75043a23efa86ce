//! Hours of the calendar, in UTC: what usage is counted by.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use sluicegate_core::time::Timestamp;

const SECS: u32 = 3_600;
const DAY_HOURS: u32 = 24;

/// An hour, counted from 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Hour(u32);

impl Hour {
    /// The first one.
    pub const FIRST: Self = Self(0);
    /// The one in which the last instant lies.
    pub const LAST: Self = Self(u32::MAX / SECS);

    /// The hour in which an instant lies.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.as_secs() / SECS)
    }

    /// The hour of this number, or nothing if there is no instant in it.
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

    /// The hour after it. The last is followed by itself.
    pub const fn next(self) -> Self {
        if self.0 < Self::LAST.0 { Self(self.0 + 1) } else { self }
    }

    /// The end of a range of hours, which may lie behind the last.
    pub(crate) const fn end_of_range(number: u32) -> Self {
        Self(number)
    }

    /// Its number in its day.
    pub const fn of_day(self) -> u32 {
        self.0 % DAY_HOURS
    }

    /// The day, in UTC.
    pub fn date(self) -> Date {
        instant(self).to_zoned(TimeZone::UTC).date()
    }
}

fn instant(hour: Hour) -> jiff::Timestamp {
    // Every hour of this type lies within the range of the other.
    jiff::Timestamp::from_second(i64::from(hour.0) * i64::from(SECS)).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// As RFC 3339 has it: `2026-11-16T05:00:00Z`.
impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        instant(*self).fmt(f)
    }
}

/// The text is not the first instant of an hour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAnHour {
    /// The text.
    pub text: String,
}

impl fmt::Display for NotAnHour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the beginning of an hour, such as 2026-11-16T05:00:00Z", self.text)
    }
}

impl std::error::Error for NotAnHour {}

/// Reads what [`Hour`] is written as. Other offsets from UTC will do, other minutes will not.
impl FromStr for Hour {
    type Err = NotAnHour;

    fn from_str(text: &str) -> Result<Self, NotAnHour> {
        let wrong = || NotAnHour { text: text.to_owned() };
        let at: jiff::Timestamp = text.trim().parse().map_err(|_| wrong())?;
        let secs = u32::try_from(at.as_second()).map_err(|_| wrong())?;
        let is_whole = at.subsec_nanosecond() == 0 && secs.is_multiple_of(SECS);
        if is_whole { Ok(Self(secs / SECS)) } else { Err(wrong()) }
    }
}

/// All hours.
pub const ALL_HOURS: Range<Hour> = Hour::FIRST..Hour(Hour::LAST.0 + 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_written_and_read_as_its_first_instant() {
        let hour = Hour::of(Timestamp::from_secs(1_790_000_000));
        assert_eq!(hour.to_string(), "2026-09-21T14:00:00Z");
        assert_eq!("2026-09-21T14:00:00Z".parse(), Ok(hour));
        assert_eq!("2026-09-21T16:00:00+02:00".parse(), Ok(hour));
        for wrong in
            ["2026-09-21T13:00:01Z", "2026-09-21T13:30:00Z", "2026-09-21", "", "1960-01-01T00:00:00Z"]
        {
            assert!(wrong.parse::<Hour>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_hour_knows_its_place_in_the_day() {
        let hour: Hour = "2028-02-29T23:00:00Z".parse().unwrap();
        assert_eq!((hour.of_day(), hour.next().of_day()), (23, 0));
        assert_eq!(hour.next().date().to_string(), "2028-03-01");
    }

    #[test]
    fn the_last_hour_ends_the_count() {
        assert_eq!(Hour::of(Timestamp::MAX), Hour::LAST);
        assert_eq!(Hour::LAST.next(), Hour::LAST);
        assert_eq!(Hour::new(u32::MAX), None);
        assert_eq!(Hour::LAST.to_string(), "2106-02-07T06:00:00Z");
    }
}
