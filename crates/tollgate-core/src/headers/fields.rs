//! The families with one field for each number: `RateLimit-*`, `X-RateLimit-*`, `X-Quota-*`.

use super::{Field, Lines, Shown};
use crate::limit::{Axis, LimitName};
use crate::policy::responses::QuotaReset;
use crate::time::{Nanos, Timestamp};

pub(super) fn rate(shown: &Shown<'_>, lines: &mut Lines) {
    if let Some((limit, reading)) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        lines.number(Field::RateLimitLimit, limit.rule.per_window());
        lines.number(Field::RateLimitRemaining, reading.remaining);
        lines.number(Field::RateLimitReset, reading.reset.as_secs_ceil());
    }
}

pub(super) fn x_rate(shown: &Shown<'_>, lines: &mut Lines) {
    if let Some((limit, reading)) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        lines.number(Field::XRateLimitLimit, limit.rule.per_window());
        lines.number(Field::XRateLimitRemaining, reading.remaining);
        lines.number(Field::XRateLimitReset, unix_seconds(shown.now(), reading.reset));
    }
}

pub(super) fn quota(shown: &Shown<'_>, reset: QuotaReset, lines: &mut Lines) {
    let Some((limit, reading)) = shown.of_axis(Axis::Quota, LimitName::QUOTA) else { return };
    lines.number(Field::XQuotaLimit, limit.rule.capacity());
    lines.number(Field::XQuotaUsed, reading.used);
    lines.number(Field::XQuotaRemaining, reading.remaining);
    // An unused quota has nothing to reset; its period still ends.
    let until = if reading.reset == Nanos::ZERO { reading.next } else { reading.reset };
    let seconds = unix_seconds(shown.now(), until);
    match reset {
        QuotaReset::UnixSeconds => lines.number(Field::XQuotaReset, seconds),
        QuotaReset::HttpDate => lines.line(Field::XQuotaReset, |text| text.push_str(&http_date(seconds))),
    }
    if reading.overage > 0 {
        lines.number(Field::XQuotaOverage, reading.overage);
    }
}

/// The first whole second that is not before `until` has passed.
fn unix_seconds(now: Timestamp, until: Nanos) -> u64 {
    Nanos(now.as_nanos().saturating_add(until.0)).as_secs_ceil()
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(seconds: u64) -> String {
    let second = i64::try_from(seconds).unwrap_or(i64::MAX);
    let instant = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX);
    jiff::tz::TimeZone::UTC.to_datetime(instant).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
