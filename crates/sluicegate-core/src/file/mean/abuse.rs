//! What `edge`, `reputation`, `blocks`, `pressure` and `degraded` mean.

use std::num::NonZeroU32;

use crate::file::sink::Sink;
use crate::file::typed::{
    AppliesToWord, At, BlocksBody, DegradedBody, DegradedQuotaWord, DegradedRateWord, EdgeBody, EdgePer,
    Field, PressureBody, PressureSetting, ReputationBody,
};
use crate::policy::{AppliesTo, Blocks, Degraded, DegradedQuota, DegradedRate, Edge, Pressure, Reputation};
use crate::rule::TokenBucket;

use super::bucket::{Burst, bucket};
use super::range::count;
use super::{duration, window};

pub(super) fn edge(body: &EdgeBody, sink: &mut Sink) -> Option<Edge> {
    let burst = Burst::of(&body.burst, sink);
    let bucket = bucket("`rate`", body.rate.given()?, burst, sink)?;
    // Addresses are all that is known before identity: `per` may say so, or be left out.
    let (Some(EdgePer::Ip) | None) = body.per.value();
    Some(Edge { bucket })
}

fn applies_to(field: &Field<AppliesToWord>) -> AppliesTo {
    match field.value() {
        Some(AppliesToWord::All) => AppliesTo::All,
        Some(AppliesToWord::Clients) | None => AppliesTo::Clients,
    }
}

pub(super) fn reputation(body: &ReputationBody, sink: &mut Sink) -> Option<Reputation> {
    let max = u32::from(Reputation::POINTS_MAX);
    let penalty = count(&body.penalty, Reputation::PENALTY_DEFAULT.into(), max, "`penalty`", sink);
    let recover = match body.recover.given() {
        None => Some((Reputation::RECOVER_DEFAULT, Reputation::RECOVER_PER_DEFAULT)),
        Some(at) => {
            let points = u8::try_from(at.value.amount)
                .ok()
                .filter(|points| (1..=Reputation::POINTS_MAX).contains(points));
            if points.is_none() || at.value.window.is_none() {
                let message = "this does not say how many points come back per how long";
                let help = format!("write 1 to {max} points per time, such as 1/10m");
                sink.report(at.place, message, help);
            }
            points.zip(at.value.window)
        }
    };
    let (recover, recover_per) = recover?;
    let penalty = u8::try_from(penalty?).ok()?;
    let reputation = Reputation { applies_to: applies_to(&body.applies_to), penalty, recover, recover_per };
    if let (Err(_), Some(at)) = (reputation.meter(), body.recover.given()) {
        let message = format!(
            "a spoilt reputation would take more than {} years to recover",
            TokenBucket::FILL_YEARS_MAX
        );
        sink.report(at.place, message, "let more points come back, or sooner");
        return None;
    }
    Some(reputation)
}

pub(super) fn blocks(body: &BlocksBody, sink: &mut Sink) -> Option<Blocks> {
    let after = count(&body.after, Blocks::AFTER_DEFAULT, Blocks::AFTER_MAX, "`after`", sink);
    let within = window(&body.within, Blocks::WITHIN_DEFAULT, sink);
    let first = duration(&body.first, Blocks::FIRST_DEFAULT, sink);
    // A long first block needs no `max` beside it.
    let max_default = first.map_or(Blocks::MAX_DEFAULT, |first| first.max(Blocks::MAX_DEFAULT));
    let max = duration(&body.max, max_default, sink);
    if let (Some(first), Some(max), Some(at)) = (first, max, body.max.given())
        && max < first
    {
        let help = "make `max` at least as long as `for`";
        sink.report(at.place, "the longest block is shorter than the first", help);
        return None;
    }
    Some(Blocks {
        applies_to: applies_to(&body.applies_to),
        after: after?,
        within: within?,
        first: first?,
        max: max?,
    })
}

/// On by default wherever callers without a key are let in.
pub(super) fn pressure(
    field: &Field<PressureSetting>,
    has_anonymous_tier: bool,
    sink: &mut Sink,
) -> Option<Option<Pressure>> {
    match field {
        Field::Absent => Some(has_anonymous_tier.then(Pressure::default)),
        Field::Wrong => None,
        Field::Given(At { value: PressureSetting::Off, .. }) => Some(None),
        Field::Given(At { value: PressureSetting::On(body), .. }) => pressure_on(body, sink).map(Some),
    }
}

fn pressure_on(body: &PressureBody, sink: &mut Sink) -> Option<Pressure> {
    let fingerprints = count(
        &body.fingerprints,
        Pressure::FINGERPRINTS_DEFAULT,
        Pressure::FINGERPRINTS_MAX,
        "`fingerprints`",
        sink,
    );
    let window = window(&body.window, Pressure::WINDOW_DEFAULT, sink);
    let share = count(&body.share, Pressure::SHARE_DEFAULT.get(), Pressure::SHARE_MAX, "`share`", sink);
    let length = duration(&body.length, Pressure::LENGTH_DEFAULT, sink);
    Some(Pressure {
        fingerprints: fingerprints?,
        window: window?,
        squeeze_to: body.squeeze_to.value().map_or(Pressure::SQUEEZE_TO_DEFAULT, |share| share.0),
        share: NonZeroU32::new(share?)?,
        length: length?,
    })
}

pub(super) fn degraded(body: &DegradedBody) -> Degraded {
    let default = Degraded::default();
    Degraded {
        cap: body.cap.value().map_or(default.cap, |share| share.0),
        rate: match body.rate.value() {
            Some(DegradedRateWord::Local) => DegradedRate::Local,
            Some(DegradedRateWord::Open) => DegradedRate::Open,
            Some(DegradedRateWord::Closed) => DegradedRate::Closed,
            None => default.rate,
        },
        quota: match body.quota.value() {
            Some(DegradedQuotaWord::Local) => DegradedQuota::Local,
            Some(DegradedQuotaWord::Closed) => DegradedQuota::Closed,
            Some(DegradedQuotaWord::Reconcile) => DegradedQuota::Reconcile,
            Some(DegradedQuotaWord::Open) => DegradedQuota::Open,
            None => default.quota,
        },
    }
}
