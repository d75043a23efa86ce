//! What the entries of a tier's `limits` mean.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{
    Algorithm, At, Field, LimitAxis, LimitBody, List, Named, NamedEntry, PerWord, Text,
};
use crate::file::yaml::shown;
use crate::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use crate::policy::{RouteIndex, TierLimit};
use crate::rule::Amount;

use super::routes::report_bad_name;
use super::{overage, rule};

/// A meant entry with the place of its name.
pub(super) struct MeantLimit {
    pub(super) place: Place,
    pub(super) limit: TierLimit,
}

/// All entries; nothing if one of them cannot be meant. Without `routes`, what they name is not looked up.
pub(super) fn limits(
    field: &Field<Named<LimitBody>>,
    routes: Option<&[&str]>,
    sink: &mut Sink,
) -> Option<Vec<MeantLimit>> {
    let named = match field {
        Field::Absent => return Some(Vec::new()),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    if named.value.0.is_empty() {
        sink.report(named.key, "`limits` is empty", "add a limit by name, or remove it");
        return None;
    }
    let meant: Vec<Option<MeantLimit>> =
        named.value.0.iter().map(|entry| limit(entry, routes, sink)).collect();
    meant.into_iter().collect()
}

fn limit(entry: &NamedEntry<LimitBody>, routes: Option<&[&str]>, sink: &mut Sink) -> Option<MeantLimit> {
    let name = limit_name(entry, sink);
    let body = entry.body.as_ref()?;
    let counted = routes_of(&body.routes, routes, sink);
    let algorithm = body.algorithm.given();
    let rule = algorithm.and_then(|algorithm| rule::rule(algorithm.value, body, sink));
    let algorithm = algorithm?;
    let axis = axis(algorithm.value, body, sink);
    let excess = excess(algorithm, axis?, body, sink);
    let limit = Limit {
        name: name?,
        axis: axis?,
        per: per(body.per.value().copied(), axis?),
        rule: rule?,
        excess: excess?,
        sold: None,
    };
    Some(MeantLimit { place: entry.place, limit: TierLimit { limit, routes: counted? } })
}

fn limit_name(entry: &NamedEntry<LimitBody>, sink: &mut Sink) -> Option<LimitName> {
    let reserved = [LimitName::RATE, LimitName::CONCURRENCY, LimitName::QUOTA];
    if reserved.contains(&entry.name.as_str()) {
        let message = format!(
            "`{}` is the name of the limit that the key `{}` of a tier makes",
            entry.name, entry.name
        );
        sink.report(entry.place, message, "give this limit another name");
        return None;
    }
    let name = LimitName::new(&entry.name);
    match &name {
        None => report_bad_name("limit", &entry.name, entry.place, sink),
        Some(name) if name.is_reserved() => {
            let message = format!("`{name}` is what Sluicegate itself remembers of each caller");
            sink.report(entry.place, message, "give this limit another name");
            return None;
        }
        Some(_) => {}
    }
    name
}

/// The routes a limit counts, in the order of the file; none: every request.
fn routes_of(field: &Field<List<Text>>, routes: Option<&[&str]>, sink: &mut Sink) -> Option<Vec<RouteIndex>> {
    let list = match field {
        Field::Absent => return Some(Vec::new()),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    if list.value.0.is_empty() {
        let help = "name a route, or remove it to count every request";
        sink.report(list.place, "`routes` is empty, so the limit would count nothing", help);
        return None;
    }
    let routes = routes?;
    let mut found: Vec<RouteIndex> = Vec::new();
    for at in &list.value.0 {
        let name = at.value.0.as_str();
        let index = routes.iter().position(|route| *route == name);
        match index.and_then(|index| u16::try_from(index).ok()).map(RouteIndex) {
            Some(index) if found.contains(&index) => {
                let message = format!("the route {} stands here twice", shown(name));
                sink.report(at.place, message, "remove one of the two");
            }
            Some(index) => found.push(index),
            None => report_undefined(at, routes, sink),
        }
    }
    found.sort_unstable();
    (found.len() == list.value.0.len()).then_some(found)
}

fn report_undefined(at: &At<Text>, routes: &[&str], sink: &mut Sink) {
    let name = at.value.0.as_str();
    let help = sink.did_you_mean(name, routes.iter().copied(), || {
        format!("define it under the top-level `routes`: `{name}: {{match: \"GET /path\"}}`")
    });
    sink.report(at.place, format!("the route {} is not defined", shown(name)), help);
}

fn axis(algorithm: Algorithm, body: &LimitBody, sink: &mut Sink) -> Option<Axis> {
    match (algorithm, &body.axis) {
        (_, Field::Wrong) => None,
        (Algorithm::Concurrency, Field::Given(at)) => {
            let help = "remove `axis`: concurrency is an axis of its own";
            sink.report(at.key, "a concurrency limit is neither a rate nor a quota", help);
            None
        }
        (Algorithm::Concurrency, Field::Absent) => Some(Axis::Concurrency),
        (_, Field::Given(at)) => Some(match at.value {
            LimitAxis::Rate => Axis::Rate,
            LimitAxis::Quota => Axis::Quota,
        }),
        (Algorithm::CalendarDay | Algorithm::CalendarMonth | Algorithm::BillingMonth, Field::Absent) => {
            Some(Axis::Quota)
        }
        (_, Field::Absent) => Some(Axis::Rate),
    }
}

fn per(word: Option<PerWord>, axis: Axis) -> Per {
    match (word, axis) {
        (Some(PerWord::Key), _) | (None, Axis::Rate) => Per::Key,
        (Some(PerWord::Account), _) | (None, Axis::Concurrency | Axis::Quota | Axis::Conduct) => Per::Account,
        (Some(PerWord::Client), _) => Per::Client,
    }
}

fn excess(algorithm: &At<Algorithm>, axis: Axis, body: &LimitBody, sink: &mut Sink) -> Option<Excess> {
    let default = match axis {
        Axis::Rate | Axis::Concurrency | Axis::Conduct => RefusalStatus::TooManyRequests,
        Axis::Quota => RefusalStatus::PaymentRequired,
    };
    let status = body.status.value().map_or(default, |status| status.0);
    if let (Some(at), false) = (body.on_exceeded.given(), axis == Axis::Quota) {
        let help = "remove `on_exceeded`, or add `axis: quota`";
        sink.report(at.key, "`on_exceeded` is for quotas, and this limit is none", help);
        return None;
    }
    let limit = body.limit.given().and_then(|at| Amount::new(at.value.amount));
    let beyond = overage::Typed { overrun: &body.on_exceeded, key: "on_exceeded", cap: &body.overage_cap };
    let excess = overage::excess(&beyond, limit, status, sink)?;
    match algorithm.value {
        Algorithm::SlidingWindow | Algorithm::SlidingBuckets | Algorithm::SlidingLog
            if excess.is_billed() =>
        {
            overage::report_sliding(&beyond, "use calendar_month, billing_month or calendar_day", sink);
            return None;
        }
        Algorithm::TokenBucket if excess.is_billed() => {
            // A bucket has no periods that a bill could name.
            let message =
                "this algorithm cannot count what goes beyond its limit, so nothing could be billed";
            sink.report(algorithm.place, message, "use calendar_month, billing_month or calendar_day");
            return None;
        }
        _ => {}
    }
    Some(excess)
}
