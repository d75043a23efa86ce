//! The families with one field for each number: `RateLimit-*`, `X-RateLimit-*`, `X-Quota-*`.

use super::{Field, Shown, put};
use crate::limit::{Axis, LimitName};
use crate::policy::responses::QuotaReset;
use crate::time::{Nanos, Timestamp};

pub(super) fn rate(shown: &Shown<'_>, sink: &mut impl FnMut(Field, &str)) {
    if let Some((limit, reading)) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        put(sink, Field::RateLimitLimit, format_args!("{}", limit.rule.per_window()));
        put(sink, Field::RateLimitRemaining, format_args!("{}", reading.remaining));
        put(sink, Field::RateLimitReset, format_args!("{}", reading.reset.as_secs_ceil()));
    }
}

pub(super) fn x_rate(shown: &Shown<'_>, sink: &mut impl FnMut(Field, &str)) {
    if let Some((limit, reading)) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        put(sink, Field::XRateLimitLimit, format_args!("{}", limit.rule.per_window()));
        put(sink, Field::XRateLimitRemaining, format_args!("{}", reading.remaining));
        put(sink, Field::XRateLimitReset, format_args!("{}", unix_seconds(shown.now(), reading.reset)));
    }
}

pub(super) fn quota(shown: &Shown<'_>, reset: QuotaReset, sink: &mut impl FnMut(Field, &str)) {
    let Some((limit, reading)) = shown.of_axis(Axis::Quota, LimitName::QUOTA) else { return };
    put(sink, Field::XQuotaLimit, format_args!("{}", limit.rule.capacity()));
    put(sink, Field::XQuotaUsed, format_args!("{}", reading.used));
    put(sink, Field::XQuotaRemaining, format_args!("{}", reading.remaining));
    // An unused quota has nothing to reset; its period still ends.
    let until = if reading.reset == Nanos::ZERO { reading.next } else { reading.reset };
    let seconds = unix_seconds(shown.now(), until);
    match reset {
        QuotaReset::UnixSeconds => put(sink, Field::XQuotaReset, format_args!("{seconds}")),
        QuotaReset::HttpDate => put(sink, Field::XQuotaReset, format_args!("{}", http_date(seconds))),
    }
    if reading.overage > 0 {
        put(sink, Field::XQuotaOverage, format_args!("{}", reading.overage));
    }
}

/// The first whole second that is not before `until` has passed.
fn unix_seconds(now: Timestamp, until: Nanos) -> u64 {
    Nanos(now.as_nanos().saturating_add(until.0)).as_secs_ceil()
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(seconds: u64) -> impl std::fmt::Display {
    let second = i64::try_from(seconds).unwrap_or(i64::MAX);
    let instant = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX);
    jiff::tz::TimeZone::UTC.to_datetime(instant).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
