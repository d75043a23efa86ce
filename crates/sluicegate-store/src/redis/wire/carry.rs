//! Carrying usage over when limits were edited: done here, by the core, and put back if nobody wrote meanwhile.

use sluicegate_core::image::{Reader, decode_meter, encode_meter, put_number};
use sluicegate_core::meter::{Meter, Moment, SmallMeter, Terms};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::period_meter::PeriodMeter;
use sluicegate_core::plan::Charge;
use sluicegate_core::rule::concurrency::Slots;
use sluicegate_core::rule::sliding_window::TwoCounts;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::time::{Nanos, Timestamp};

use super::blob::{Blob, StoredMeter};
use super::bucket::Grid;
use super::call::WireCall;
use super::limit::{WINDOW_NUMBERS, WireLimit, width};
use super::number::{MICRO, Malformed, micros, put};
use super::reply::Stale;

const MICROS_PER_SEC: u64 = 1_000_000;
/// The versions and kinds of images as `sluicegate_core::image` has them.
const IMAGE_OF_SECONDS: [u8; 2] = [1, 4];

/// A home to be put in the place of another.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// The home as it was read.
    pub(crate) expected: Vec<u8>,
    /// As it should be.
    pub(crate) home: Vec<u8>,
    /// The places of the limits whose keys hold nothing any more.
    pub(crate) emptied: Vec<u8>,
    /// What becomes of previous periods. For each limit that is concerned, its place (1 byte) and four numbers: the end
    /// of the period, its count, what was recorded in it before its last change, and up to where nothing more of it is
    /// billed. All zero: it is forgotten, for the limit has other periods than before.
    pub(crate) past: Vec<u8>,
}

/// What was carried over.
#[derive(Debug)]
pub(crate) enum Carried {
    /// This is to be put in the home's place.
    Over(Replacement),
    /// Nothing yet: the call must be made with the keys of all its limits.
    KeysMissing,
}

/// Carries the meters of a home over to the limits of a call.
pub(crate) fn carry(stale: &Stale<'_>, wire: &WireCall<'_>) -> Result<Carried, Malformed> {
    let mut blob = Blob::decode(stale.home)?;
    let (mut emptied, mut past) = (Vec::new(), Vec::new());
    for (place, used) in &stale.used {
        let Some(used) = used else { return Ok(Carried::KeysMissing) };
        let limit = wire.limits.get(*place).ok_or(Malformed("a limit that is not of the call"))?;
        let meter = blob.meters.iter_mut().find(|meter| meter.id == limit.id);
        let meter = meter.ok_or(Malformed("a meter that is not of the home"))?;
        let old = meter.limit()?;
        let (written, terms) = (old.terms(), limit.terms());
        let reads = terms.rule.reads_states_of(written.rule);
        if !reads || written.included != terms.included || width(written) != width(terms) {
            if is_large(written.rule) && !reads {
                if wire.keys.len() <= wire.limits.len() {
                    return Ok(Carried::KeysMissing);
                }
                emptied.push(u8::try_from(*place).unwrap_or(u8::MAX));
            }
            let mut state = decode(meter, written, *used, stale.now)?;
            let _ = state.bring_up(written, terms, &Moment::at(stale.now));
            if let Some(numbers) = if reads { closed(&state) } else { Some([0; 4]) } {
                past.push(u8::try_from(*place).unwrap_or(u8::MAX));
                numbers.into_iter().for_each(|number| put(number, &mut past));
            }
            meter.numbers = encode(&state, limit)?;
        }
        meter.image = image(limit);
    }
    let expected = stale.home.to_vec();
    Ok(Carried::Over(Replacement { expected, home: blob.encode(), emptied, past }))
}

/// The period that a change has made the previous one. What was previous before is not read for it.
fn closed(meter: &Meter) -> Option<[u64; 4]> {
    let Meter::Period(meter) = meter else { return None };
    let past = meter.previous.as_ref()?;
    let free = past.included.unwrap_or(Amount::MAX).max(past.baseline.used);
    Some([micros(Timestamp::from_secs(past.end)), past.count, past.baseline.recorded, free])
}

/// The home with another overage in the current period of a billed limit. Nothing where there is nothing to change.
pub(crate) fn rebase(
    home: &[u8],
    charge: &Charge<'_>,
    overage: u64,
    now: Timestamp,
) -> Result<Option<Vec<u8>>, Malformed> {
    let (limit, mut blob) = (WireLimit::new(charge), Blob::decode(home)?);
    let Some(meter) = blob.meters.iter_mut().find(|meter| meter.id == limit.id) else { return Ok(None) };
    let rebased = rebase_meter(meter, &limit, overage, now)?;
    Ok(rebased.then(|| blob.encode()))
}

/// The same for the field of its meter in a home with many.
pub(crate) fn rebase_field(
    field: &[u8],
    charge: &Charge<'_>,
    overage: u64,
    now: Timestamp,
) -> Result<Option<Vec<u8>>, Malformed> {
    let limit = WireLimit::new(charge);
    let mut meter = StoredMeter::from_field(limit.id, field)?;
    let rebased = rebase_meter(&mut meter, &limit, overage, now)?;
    Ok(rebased.then(|| meter.field()))
}

/// Sets the recorded overage of a meter, which goes on from what is used now. Returns whether it did: not where the
/// meter has no usage in this period, or was written under another limit.
fn rebase_meter(
    meter: &mut StoredMeter,
    limit: &WireLimit<'_>,
    overage: u64,
    now: Timestamp,
) -> Result<bool, Malformed> {
    let Some(included) = limit.terms().included else { return Ok(false) };
    let start = match limit.rule() {
        Rule::Calendar { calendar, .. } => calendar.period_at(now).start,
        Rule::FixedWindow(rule) => rule.aligned(now).start,
        _ => return Ok(false),
    };
    let &[_, used, since, ..] = meter.numbers.as_slice() else { return Ok(false) };
    if meter.image != image(limit) || since != micros(start) {
        return Ok(false);
    }
    let mut state = decode(meter, limit.terms(), 0, now)?;
    state.rebase(OverageBaseline { recorded: overage, used }.for_included(included.get()));
    meter.numbers = encode(&state, limit)?;
    Ok(true)
}

/// The home without usage in periods of these charges that begin after `latest`. Nothing where there is none.
pub(crate) fn forget_ahead(
    home: &[u8],
    charges: &[Charge<'_>],
    latest: Timestamp,
) -> Result<Option<Vec<u8>>, Malformed> {
    let (mut blob, mut forgotten) = (Blob::decode(home)?, false);
    for limit in charges.iter().map(WireLimit::new) {
        if let Some(meter) = blob.meters.iter_mut().find(|meter| meter.id == limit.id) {
            forgotten |= forget_meter_ahead(meter, latest)?;
        }
    }
    Ok(forgotten.then(|| blob.encode()))
}

/// The same for the field of a meter in a home with many.
pub(crate) fn forget_field_ahead(
    field: &[u8],
    charge: &Charge<'_>,
    latest: Timestamp,
) -> Result<Option<Vec<u8>>, Malformed> {
    let mut meter = StoredMeter::from_field(WireLimit::new(charge).id, field)?;
    let forgotten = forget_meter_ahead(&mut meter, latest)?;
    Ok(forgotten.then(|| meter.field()))
}

/// Empties the meter of a window that begins after `latest`, whatever limit it was written under.
fn forget_meter_ahead(meter: &mut StoredMeter, latest: Timestamp) -> Result<bool, Malformed> {
    let limit = meter.limit()?;
    let is_window = matches!(limit.terms().rule, Rule::FixedWindow(_) | Rule::Calendar { .. });
    let begins = meter.numbers.get(2).copied().filter(|_| is_window);
    if begins.is_none_or(|begins| begins <= micros(latest)) {
        return Ok(false);
    }
    meter.numbers.fill(0);
    Ok(true)
}

fn is_large(rule: &Rule) -> bool {
    matches!(rule, Rule::SlidingBuckets(_) | Rule::SlidingLog(_) | Rule::Concurrency { .. })
}

fn image(limit: &WireLimit<'_>) -> Vec<u8> {
    let mut image = Vec::new();
    limit.put_image(&mut image);
    image
}

/// A meter as the core has it. Of a list only its sum matters, which becomes its only entry: no usage is carried over
/// that is not summed up first.
fn decode(meter: &StoredMeter, terms: Terms<'_>, used: u64, now: Timestamp) -> Result<Meter, Malformed> {
    let rule = terms.rule;
    let number =
        |index: usize| meter.numbers.get(index).copied().ok_or(Malformed("a meter with too few numbers"));
    let start = |index: usize| {
        u32::try_from(number(index)? / MICROS_PER_SEC)
            .map_err(|_| Malformed("a window after the end of time"))
    };
    Ok(match rule {
        Rule::TokenBucket(bucket) => Meter::Small(Grid::of(bucket).tat(number(0)?, number(1)?).into()),
        Rule::FixedWindow(_) | Rule::Calendar { .. } => {
            let mut meter = Meter::Small(SmallMeter { value: number(1)?, extra: start(2)? });
            if width(terms) > WINDOW_NUMBERS {
                meter.rebase(OverageBaseline { recorded: number(3)?, used: number(4)? });
            }
            meter
        }
        Rule::SlidingWindow(_) => {
            Meter::Counts(TwoCounts { current: number(1)?, previous: number(2)?, start: start(3)? })
        }
        Rule::SlidingBuckets(_) | Rule::SlidingLog(_) => entry(rule, used, now)?,
        // Slots are carried over as they are, or not at all.
        Rule::Concurrency { .. } => Meter::Slots(Slots::default()),
    })
}

/// A timeline with one entry that counts at `now`.
fn entry(rule: &Rule, used: u64, now: Timestamp) -> Result<Meter, Malformed> {
    if used == 0 {
        return Ok(Meter::fresh(rule));
    }
    let mut image = IMAGE_OF_SECONDS.to_vec();
    put_number(1, &mut image);
    put_number(u64::from(now.as_secs()) + 1, &mut image);
    put_number(used, &mut image);
    decode_meter(&mut Reader::new(&image), rule).map_err(|_| Malformed("an entry that cannot be"))
}

/// A meter in the numbers of the home.
fn encode(meter: &Meter, limit: &WireLimit<'_>) -> Result<Vec<u64>, Malformed> {
    let length = |window: Nanos| window.0 / MICRO;
    Ok(match (meter, limit.rule()) {
        (Meter::Small(small), Rule::TokenBucket(bucket)) => {
            let tat = sluicegate_core::rule::token_bucket::Tat { nanos: small.value, parts: small.extra };
            let (micros, fraction) = Grid::of(bucket).fractions(tat);
            vec![micros, fraction]
        }
        (Meter::Small(count), Rule::FixedWindow(_) | Rule::Calendar { .. }) => {
            encode_count(*count, OverageBaseline::NONE, limit)
        }
        // What is kept of the period before has a key of its own, which an edit does not change.
        (Meter::Period(meter), _) => {
            let PeriodMeter { count, baseline, .. } = **meter;
            encode_count(count, baseline, limit)
        }
        (Meter::Counts(counts), Rule::SlidingWindow(rule)) => {
            let start = u64::from(counts.start) * MICROS_PER_SEC;
            let ends = start + 2 * length(Nanos(rule.window.as_nanos()));
            vec![ends, counts.current, counts.previous, start]
        }
        (Meter::Timeline(_), rule) => newest(meter, rule)?,
        (Meter::Slots(_), _) => vec![0; 4],
        (Meter::Small(_) | Meter::Counts(_), _) => return Err(Malformed("a meter of another rule")),
    })
}

/// A count in the numbers of the home: behind it, where there are such numbers, what its overage is counted from.
fn encode_count(count: SmallMeter, baseline: OverageBaseline, limit: &WireLimit<'_>) -> Vec<u64> {
    let start = Timestamp::from_secs(count.extra);
    let end = match limit.rule() {
        Rule::Calendar { calendar, .. } => micros(calendar.period_at(start).end),
        Rule::FixedWindow(rule) => micros(start) + rule.window.as_nanos() / MICRO,
        _ => 0,
    };
    let mut numbers = match count {
        SmallMeter { value: 0, extra: 0 } => vec![0; 3],
        _ => vec![end, count.value, micros(start)],
    };
    if limit.width() > WINDOW_NUMBERS {
        numbers.extend([baseline.recorded, baseline.used]);
    }
    numbers
}

/// A timeline that has one entry, or none.
fn newest(meter: &Meter, rule: &Rule) -> Result<Vec<u64>, Malformed> {
    const BAD: Malformed = Malformed("a list that was carried over whole");
    let mut image = Vec::new();
    let _ = encode_meter(meter, rule, &mut image);
    let mut reader = Reader::new(&image);
    let mut next = || reader.number().map_err(|_| BAD);
    let (_version, kind, count) = (next()?, next()?, next()?);
    if count == 0 {
        return Ok(vec![0; 6]);
    }
    let unit = if kind == u64::from(IMAGE_OF_SECONDS[1]) { MICROS_PER_SEC * MICRO } else { 1 };
    let (until, amount) = (next()? * unit / MICRO, next()?);
    if count > 1 { Err(BAD) } else { Ok(vec![until, amount, amount, until, 0, 0]) }
}
