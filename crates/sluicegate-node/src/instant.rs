//! Instants as RFC 3339 has them.

use jiff::Timestamp as Instant;
use sluicegate_core::time::Timestamp;

/// The instant as text, to the millisecond: `2026-11-01T12:00:00.000Z`.
pub fn text(at: Timestamp) -> String {
    let instant = Instant::from_nanosecond(i128::from(at.as_nanos())).unwrap_or(Instant::UNIX_EPOCH);
    format!("{instant:.3}")
}

/// The instant as text, to the nanosecond: `2026-11-01T12:00:00.000000000Z`.
pub fn exact(at: Timestamp) -> String {
    let instant = Instant::from_nanosecond(i128::from(at.as_nanos())).unwrap_or(Instant::UNIX_EPOCH);
    format!("{instant:.9}")
}

/// Why a text is not an instant that can be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadInstant {
    /// It is none.
    Form,
    /// It is later than anything that is kept.
    TooLate,
}

/// The instant that this text is. One before 1970 counts as 1970.
pub fn parse(text: &str) -> Result<Timestamp, BadInstant> {
    let instant: Instant = text.parse().map_err(|_| BadInstant::Form)?;
    let nanos = u64::try_from(instant.as_nanosecond().max(0)).map_err(|_| BadInstant::TooLate)?;
    if nanos > Timestamp::MAX.as_nanos() {
        Err(BadInstant::TooLate)
    } else {
        Ok(Timestamp::from_nanos(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc_and_read_in_any_zone() {
        let noon = Timestamp::from_secs(1_793_534_400);
        assert_eq!(text(noon), "2026-11-01T12:00:00.000Z");
        assert_eq!(exact(Timestamp::from_nanos(noon.as_nanos() + 7)), "2026-11-01T12:00:00.000000007Z");
        for same in ["2026-11-01T12:00:00Z", "2026-11-01T14:00:00+02:00", "2026-11-01T12:00:00.000Z"] {
            assert_eq!(parse(same), Ok(noon), "{same}");
        }
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in
            ["", "tomorrow", "2026-11-01", "2026-11-01T12:00:00", "2026-13-01T00:00:00Z", "1793534400"]
        {
            assert_eq!(parse(text), Err(BadInstant::Form), "{text}");
        }
        assert_eq!(parse("2200-01-01T00:00:00Z"), Err(BadInstant::TooLate));
        assert_eq!(parse("1950-01-01T00:00:00Z"), Ok(Timestamp::EPOCH));
    }
}
