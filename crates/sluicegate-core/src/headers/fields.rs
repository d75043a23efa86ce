//! The families with one field for each number: `RateLimit-*`, `X-RateLimit-*`, `X-Quota-*`.

use super::{Field, Shown, Sink};
use crate::limit::{Axis, LimitName};
use crate::policy::responses::QuotaReset;
use crate::time::{Nanos, Timestamp};

pub(super) fn rate(shown: &Shown<'_>, sink: &mut impl Sink) {
    if let Some(limit) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        sink.number(Field::RateLimitLimit, limit.limit);
        sink.number(Field::RateLimitRemaining, limit.remaining);
        sink.number(Field::RateLimitReset, limit.reset.as_secs_ceil());
    }
}

pub(super) fn x_rate(shown: &Shown<'_>, sink: &mut impl Sink) {
    if let Some(limit) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        sink.number(Field::XRateLimitLimit, limit.limit);
        sink.number(Field::XRateLimitRemaining, limit.remaining);
        sink.number(Field::XRateLimitReset, unix_seconds(shown.now, limit.reset));
    }
}

pub(super) fn quota(shown: &Shown<'_>, reset: QuotaReset, sink: &mut impl Sink) {
    let Some(limit) = shown.of_axis(Axis::Quota, LimitName::QUOTA) else { return };
    sink.number(Field::XQuotaLimit, limit.capacity);
    sink.number(Field::XQuotaUsed, limit.used);
    sink.number(Field::XQuotaRemaining, limit.remaining);
    let seconds = unix_seconds(shown.now, limit.reset);
    match reset {
        QuotaReset::UnixSeconds => sink.number(Field::XQuotaReset, seconds),
        QuotaReset::HttpDate => sink.line(Field::XQuotaReset, |text| text.push_str(&http_date(seconds))),
    }
    if limit.overage > 0 {
        sink.number(Field::XQuotaOverage, limit.overage);
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
