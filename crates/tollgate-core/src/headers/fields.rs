//! The families with one field for each number: `RateLimit-*`, `X-RateLimit-*`, `X-Quota-*`.

use super::{Shown, put};
use crate::limit::{Axis, LimitName};
use crate::policy::responses::QuotaReset;
use crate::rule::Rule;
use crate::time::{Nanos, Timestamp};

pub(super) fn rate(shown: &Shown<'_>, sink: &mut impl FnMut(&'static str, &str)) {
    if let Some((limit, reading)) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        put(sink, "RateLimit-Limit", format_args!("{}", per_window(&limit.rule)));
        put(sink, "RateLimit-Remaining", format_args!("{}", reading.remaining));
        put(sink, "RateLimit-Reset", format_args!("{}", reading.reset.as_secs_ceil()));
    }
}

pub(super) fn x_rate(shown: &Shown<'_>, sink: &mut impl FnMut(&'static str, &str)) {
    if let Some((limit, reading)) = shown.of_axis(Axis::Rate, LimitName::RATE) {
        put(sink, "X-RateLimit-Limit", format_args!("{}", per_window(&limit.rule)));
        put(sink, "X-RateLimit-Remaining", format_args!("{}", reading.remaining));
        put(sink, "X-RateLimit-Reset", format_args!("{}", unix_seconds(shown.now(), reading.reset)));
    }
}

pub(super) fn quota(shown: &Shown<'_>, reset: QuotaReset, sink: &mut impl FnMut(&'static str, &str)) {
    let Some((limit, reading)) = shown.of_axis(Axis::Quota, LimitName::QUOTA) else { return };
    put(sink, "X-Quota-Limit", format_args!("{}", limit.rule.capacity()));
    put(sink, "X-Quota-Used", format_args!("{}", reading.used));
    put(sink, "X-Quota-Remaining", format_args!("{}", reading.remaining));
    // An unused quota has nothing to reset; its period still ends.
    let until = if reading.reset == Nanos::ZERO { reading.next } else { reading.reset };
    let seconds = unix_seconds(shown.now(), until);
    match reset {
        QuotaReset::UnixSeconds => put(sink, "X-Quota-Reset", format_args!("{seconds}")),
        QuotaReset::HttpDate => put(sink, "X-Quota-Reset", format_args!("{}", http_date(seconds))),
    }
    if reading.overage > 0 {
        put(sink, "X-Quota-Overage", format_args!("{}", reading.overage));
    }
}

/// What a limit allows per its window: for a bucket the amount and not the burst, 10 for `10/s`.
fn per_window(rule: &Rule) -> u64 {
    match rule {
        Rule::TokenBucket(bucket) => bucket.amount(),
        other => other.capacity(),
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
