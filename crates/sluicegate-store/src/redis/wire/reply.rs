//! What the script replies.

use sluicegate_core::time::Timestamp;

use super::call::WireCall;
use super::limit::WINDOW_NUMBERS;
use super::number::{Bytes, Malformed, instant};
use super::outcome::Fate;
use super::seen::{Seen, judge};
use crate::redis::meters::{Ask, Resolved, Settled};

/// What the script replies to a call.
#[derive(Debug)]
pub(crate) enum Reply<'b> {
    /// The plans were settled, now or when the call was made first.
    Settled(Vec<Settled>),
    /// Some meters were written under limits edited since.
    Stale(Stale<'b>),
    /// The number of the call is not above this one.
    Late(u64),
    /// By this clock, none of the calendar periods of the call has come, or all are over.
    Periods(Timestamp),
}

/// A home with meters that were written under limits edited since.
#[derive(Debug)]
pub(crate) struct Stale<'b> {
    pub(crate) now: Timestamp,
    pub(crate) home: &'b [u8],
    /// The places of the limits, each with what was used if the meter was a list; nothing if its key was missing.
    pub(crate) used: Vec<(usize, Option<u64>)>,
}

/// Reads the reply to a call with these plans.
pub(crate) fn read<'b>(
    reply: &'b [u8],
    asks: &[Ask<'_>],
    wire: &WireCall<'_>,
) -> Result<Reply<'b>, Malformed> {
    let mut bytes = Bytes(reply);
    let status = bytes.byte()?;
    if status == 6 {
        return Ok(Reply::Settled(vec![as_stored(bytes, asks, wire)?]));
    }
    let now = instant_of(&mut bytes)?;
    match status {
        0 => Ok(Reply::Settled(settled(bytes, now, asks, wire, None)?)),
        1 => {
            let length = u32::from_le_bytes(bytes.array()?);
            let home = bytes.take(usize::try_from(length).unwrap_or(usize::MAX))?;
            let mut used = Vec::new();
            while !bytes.is_empty() {
                used.push((bytes.short()?.into(), bytes.optional()?));
            }
            Ok(Reply::Stale(Stale { now, home, used }))
        }
        2 => {
            let length = bytes.short()?;
            let told = Fate::read_all(Bytes(bytes.take(length.into())?))?;
            Ok(Reply::Settled(settled(bytes, now, asks, wire, Some(&told))?))
        }
        3 => Ok(Reply::Late(bytes.number()?)),
        4 => Ok(Reply::Periods(now)),
        _ => Err(Malformed("a reply that does not exist")),
    }
}

/// Reads the reply to the question what became of a call; the last number used, if that is past it.
pub(crate) fn read_resolved(reply: &[u8]) -> Result<Result<Resolved, u64>, Malformed> {
    let mut bytes = Bytes(reply);
    let status = bytes.byte()?;
    instant_of(&mut bytes)?;
    match (status, bytes.clone().byte()?) {
        (3, _) => Ok(Err(bytes.number()?)),
        (5, 0) => Ok(Ok(Resolved::Never)),
        (5, 1) => {
            bytes.byte()?;
            let at = instant_of(&mut bytes)?;
            let plans = Fate::read_all(bytes)?.into_iter().map(Fate::applied).collect();
            Ok(Ok(Resolved::Applied { at, plans }))
        }
        _ => Err(Malformed("a reply that does not exist")),
    }
}

fn instant_of(bytes: &mut Bytes<'_>) -> Result<Timestamp, Malformed> {
    bytes.number().map(instant)
}

/// Reads what became of one common plan, from the very bytes that the home has of it now.
fn as_stored(mut bytes: Bytes<'_>, asks: &[Ask<'_>], wire: &WireCall<'_>) -> Result<Settled, Malformed> {
    const OTHER_CALL: Malformed = Malformed("a reply to another call");
    let ([ask], [bucket, window]) = (asks, wire.limits.as_slice()) else { return Err(OTHER_CALL) };
    let bucket = Seen::read(bucket, &mut bytes)?;
    let _ends = bytes.number()?;
    let baseline = window.width() - WINDOW_NUMBERS;
    let window = Seen::read(window, &mut bytes)?;
    bytes.take(usize::from(baseline) * size_of::<f64>())?;
    let (_node, _seq) = (bytes.take(size_of::<u64>())?, bytes.number()?);
    let now = instant_of(&mut bytes)?;
    let told = match bytes.short()? {
        1 => Fate::read(&mut bytes)?,
        _ => return Err(OTHER_CALL),
    };
    if bytes.is_empty() { Ok(judge(ask.plan, now, told, &mut [bucket, window])) } else { Err(OTHER_CALL) }
}

/// Reads what became of each plan, or takes it from `then` where the call was repeated.
fn settled(
    mut bytes: Bytes<'_>,
    now: Timestamp,
    asks: &[Ask<'_>],
    wire: &WireCall<'_>,
    then: Option<&[Fate]>,
) -> Result<Vec<Settled>, Malformed> {
    let mut places = wire.places.iter();
    let mut all = Vec::with_capacity(asks.len());
    for (index, ask) in asks.iter().enumerate() {
        let mut told = Fate::read(&mut bytes)?;
        if let Some(then) = then {
            told = *then.get(index).ok_or(Malformed("another call had this number"))?;
        }
        let mut seen = Vec::with_capacity(ask.plan.charges().len());
        for place in places.by_ref().take(ask.plan.charges().len()) {
            let limit = wire.limits.get(*place).ok_or(Malformed("a limit that is not of the call"))?;
            seen.push(Seen::read(limit, &mut bytes)?);
        }
        all.push(judge(ask.plan, now, told, &mut seen));
    }
    if bytes.is_empty() { Ok(all) } else { Err(Malformed("it goes on too long")) }
}
