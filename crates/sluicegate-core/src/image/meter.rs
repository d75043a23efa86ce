//! The image of a meter's state.

use super::{BadImage, Reader, put_number};
use crate::meter::{Meter, SmallMeter};
use crate::overage::OverageBaseline;
use crate::past::PastPeriod;
use crate::period_meter::PeriodMeter;
use crate::rule::sliding_window::TwoCounts;
use crate::rule::timeline::Timeline;
use crate::rule::token_bucket::{Tat, TokenBucket};
use crate::rule::{Amount, Rule};
use crate::time::Window;

const VERSION: u8 = 1;
/// Of meters with a baseline of their overage.
const VERSION_REBASED: u8 = 2;
/// Of meters that keep the period before.
const VERSION_PAST: u8 = 3;

const INSTANT: u8 = 1;
const COUNT: u8 = 2;
const TWO_COUNTS: u8 = 3;
/// A timeline whose instants are whole seconds, as those of buckets are.
const SECONDS: u8 = 4;
/// A timeline to the nanosecond.
const NANOSECONDS: u8 = 5;
/// A count, and what its overage is counted from.
const REBASED_COUNT: u8 = 6;
/// The same, and the period before: its count, its end, what its overage is counted from, and one more than what was
/// included in it (0: what the limit includes).
const TWO_PERIODS: u8 = 7;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Whether a meter has an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Written {
    /// It was appended.
    Image,
    /// It has none, and nothing was appended: these are concurrency slots.
    Nothing,
}

/// Appends the image of a meter that was last written under `rule`.
pub fn encode_meter(meter: &Meter, rule: &Rule, into: &mut Vec<u8>) -> Written {
    match (meter, rule) {
        (Meter::Slots(_), _) | (_, Rule::Concurrency { .. }) => return Written::Nothing,
        (Meter::Small(small), Rule::TokenBucket(bucket)) => {
            let tat = bucket.storable(Tat { nanos: small.value, parts: small.extra });
            into.extend([VERSION, INSTANT]);
            into.extend(tat.nanos.to_le_bytes());
            put_number(tat.parts.into(), into);
        }
        (Meter::Small(small), _) => {
            into.extend([VERSION, COUNT]);
            put_number(small.value, into);
            into.extend(small.extra.to_le_bytes());
        }
        (Meter::Period(meter), _) => encode_period(meter, into),
        (Meter::Counts(counts), _) => {
            into.extend([VERSION, TWO_COUNTS]);
            put_number(counts.current, into);
            put_number(counts.previous, into);
            into.extend(counts.start.to_le_bytes());
        }
        (Meter::Timeline(timeline), _) => encode_timeline(timeline, into),
    }
    Written::Image
}

fn encode_period(PeriodMeter { count, baseline, previous }: &PeriodMeter, into: &mut Vec<u8>) {
    match previous {
        None => into.extend([VERSION_REBASED, REBASED_COUNT]),
        Some(_) => into.extend([VERSION_PAST, TWO_PERIODS]),
    }
    put_number(count.value, into);
    into.extend(count.extra.to_le_bytes());
    put_number(baseline.recorded, into);
    put_number(baseline.used, into);
    if let Some(past) = previous {
        put_number(past.count, into);
        into.extend(past.end.to_le_bytes());
        put_number(past.baseline.recorded, into);
        put_number(past.baseline.used, into);
        put_number(past.included.map_or(0, |included| included + 1), into);
    }
}

/// Each entry as its distance from the one before, and how much it holds.
fn encode_timeline(timeline: &Timeline, into: &mut Vec<u8>) {
    let whole = timeline.entries().all(|(until, _)| until.is_multiple_of(NANOS_PER_SEC));
    let (kind, unit) = if whole { (SECONDS, NANOS_PER_SEC) } else { (NANOSECONDS, 1) };
    into.extend([VERSION, kind]);
    put_number(timeline.entries().count() as u64, into);
    let mut before = 0;
    for (until, amount) in timeline.entries() {
        put_number((until - before) / unit, into);
        put_number(amount, into);
        before = until;
    }
}

/// The meter whose image comes next. Its limit had this rule when it was written.
pub fn decode_meter(reader: &mut Reader<'_>, rule: &Rule) -> Result<Meter, BadImage> {
    match reader.byte()? {
        VERSION => {}
        VERSION_REBASED => return rebased(reader, rule),
        VERSION_PAST => return two_periods(reader, rule),
        other => return Err(BadImage::Version(other)),
    }
    match (reader.byte()?, rule) {
        (INSTANT, Rule::TokenBucket(bucket)) => instant(reader, bucket),
        (COUNT, Rule::Calendar { .. }) => count(reader, None),
        (COUNT, Rule::FixedWindow(rule)) => count(reader, Some(rule.window)),
        (TWO_COUNTS, Rule::SlidingWindow(rule)) => {
            let (current, previous) = (counted(reader)?, counted(reader)?);
            let start = start(reader, Some(rule.window))?;
            Ok(Meter::Counts(TwoCounts { current, previous, start }))
        }
        (SECONDS, Rule::SlidingBuckets(_) | Rule::SlidingLog(_)) => timeline(reader, NANOS_PER_SEC),
        (NANOSECONDS, Rule::SlidingLog(_)) => timeline(reader, 1),
        (INSTANT | COUNT | TWO_COUNTS | SECONDS | NANOSECONDS, _) => Err(BadImage::Algorithm),
        (other, _) => Err(BadImage::Kind(other)),
    }
}

fn rebased(reader: &mut Reader<'_>, rule: &Rule) -> Result<Meter, BadImage> {
    let window = match (reader.byte()?, rule) {
        (REBASED_COUNT, Rule::Calendar { .. }) => None,
        (REBASED_COUNT, Rule::FixedWindow(rule)) => Some(rule.window),
        (REBASED_COUNT, _) => return Err(BadImage::Algorithm),
        (other, _) => return Err(BadImage::Kind(other)),
    };
    let (count, baseline) = period(reader, window)?;
    // Without a baseline it is written as a count: equal values have equal images.
    if baseline == OverageBaseline::NONE {
        return Err(BadImage::Range("a baseline"));
    }
    Ok(PeriodMeter { count, baseline, previous: None }.into())
}

fn two_periods(reader: &mut Reader<'_>, rule: &Rule) -> Result<Meter, BadImage> {
    let window = match (reader.byte()?, rule) {
        (TWO_PERIODS, Rule::Calendar { .. }) => None,
        (TWO_PERIODS, Rule::FixedWindow(rule)) => Some(rule.window),
        (TWO_PERIODS, _) => return Err(BadImage::Algorithm),
        (other, _) => return Err(BadImage::Kind(other)),
    };
    let (count, baseline) = period(reader, window)?;
    let past = counted(reader)?;
    let end = start(reader, window)?;
    let past_baseline = baseline_of(reader)?;
    let included = match reader.number()? {
        0 => None,
        more if more - 1 <= Amount::MAX => Some(more - 1),
        _ => return Err(BadImage::Range("what is included")),
    };
    if end > count.extra {
        return Err(BadImage::Range("the end of a period"));
    }
    let previous = Some(PastPeriod { count: past, end, baseline: past_baseline, included });
    Ok(PeriodMeter { count, baseline, previous }.into())
}

/// A count with the start of its period, and what its overage is counted from.
fn period(
    reader: &mut Reader<'_>,
    window: Option<Window>,
) -> Result<(SmallMeter, OverageBaseline), BadImage> {
    let count = SmallMeter { value: counted(reader)?, extra: start(reader, window)? };
    Ok((count, baseline_of(reader)?))
}

fn baseline_of(reader: &mut Reader<'_>) -> Result<OverageBaseline, BadImage> {
    Ok(OverageBaseline { recorded: counted(reader)?, used: counted(reader)? })
}

fn instant(reader: &mut Reader<'_>, bucket: &TokenBucket) -> Result<Meter, BadImage> {
    let tat = Tat { nanos: u64::from_le_bytes(reader.bytes()?), parts: reader.number32()? };
    if !bucket.may_have(tat) {
        return Err(BadImage::Range("an instant"));
    }
    Ok(Meter::Small(tat.into()))
}

fn count(reader: &mut Reader<'_>, window: Option<Window>) -> Result<Meter, BadImage> {
    Ok(Meter::Small(SmallMeter { value: counted(reader)?, extra: start(reader, window)? }))
}

fn counted(reader: &mut Reader<'_>) -> Result<u64, BadImage> {
    let count = reader.number()?;
    if count <= Amount::MAX { Ok(count) } else { Err(BadImage::Range("a count")) }
}

/// The start of a window. Where a calendar's periods start is not for the meter to say: zones change.
fn start(reader: &mut Reader<'_>, window: Option<Window>) -> Result<u32, BadImage> {
    let start = u32::from_le_bytes(reader.bytes()?);
    match window {
        Some(window) if !start.is_multiple_of(window.as_secs()) => {
            Err(BadImage::Range("the start of a window"))
        }
        _ => Ok(start),
    }
}

fn timeline(reader: &mut Reader<'_>, unit: u64) -> Result<Meter, BadImage> {
    const OUT_OF_RANGE: BadImage = BadImage::Range("an entry");
    let count = reader.number()?;
    // Two bytes at the least for each: no memory is taken for entries that are only claimed.
    if count > reader.left() as u64 / 2 {
        return Err(BadImage::Short);
    }
    let (mut timeline, mut until, mut whole) = (Timeline::default(), 0u64, true);
    for _ in 0..count {
        let step = reader.number()?.checked_mul(unit);
        until = step.and_then(|step| until.checked_add(step)).ok_or(OUT_OF_RANGE)?;
        whole &= until.is_multiple_of(NANOS_PER_SEC);
        timeline.restore(until, reader.number()?).ok_or(OUT_OF_RANGE)?;
    }
    // Whole seconds are written as such: equal values have equal images.
    if whole && unit != NANOS_PER_SEC { Err(OUT_OF_RANGE) } else { Ok(Meter::Timeline(timeline)) }
}
