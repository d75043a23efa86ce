//! What `descriptors` mean: for each domain a tree of keys and values, with limits at some of them.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{
    Algorithm, At, DescriptorAlgorithm, DescriptorBody, DescriptorList, Field, LimitBody, Named,
    RateLimitBody, Text, UnitWord, Verbatim,
};
use crate::file::yaml::shown;
use crate::limit::LimitName;
use crate::policy::descriptor::{DescriptorLimit, Descriptors, Enforcement, Level, Node, Values};
use crate::rule::{Amount, Rule, Windowed};
use crate::time::Window;

use super::routes::report_bad_name;
use super::{range, rule};

/// What a limit is called that has no name.
const NAME_DEFAULT: &str = "descriptor";

/// All of them; nothing if one cannot be meant.
pub(super) fn descriptors(field: &Field<Named<DescriptorList>>, sink: &mut Sink) -> Option<Descriptors> {
    let named = match field {
        Field::Absent => return Some(Descriptors::default()),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    let count: usize = named.value.0.iter().filter_map(|entry| entry.body.as_ref()).map(count_of).sum();
    if count > Descriptors::COUNT_MAX {
        let message = format!("{count} descriptors are too many");
        let help = format!(
            "at most {} fit; leave out values that need no limit of their own",
            Descriptors::COUNT_MAX
        );
        sink.report(named.key, message, help);
        return None;
    }
    let meant: Vec<_> = named
        .value
        .0
        .iter()
        .map(|entry| {
            if entry.name.is_empty() {
                sink.report(entry.place, "a domain has no name", "write the `domain` that Envoy sends");
            }
            let level = level(entry.body.as_ref()?, entry.place, 1, sink)?;
            (!entry.name.is_empty()).then(|| (entry.name.clone(), level))
        })
        .collect();
    meant.into_iter().collect::<Option<_>>().map(Descriptors::new)
}

fn count_of(list: &DescriptorList) -> usize {
    let below = |at: &At<DescriptorBody>| at.value.descriptors.value().map_or(0, count_of);
    list.0.0.iter().map(|at| 1 + below(at)).sum()
}

fn level(list: &DescriptorList, place: Place, depth: usize, sink: &mut Sink) -> Option<Level> {
    if list.0.0.is_empty() {
        sink.report(
            place,
            "no descriptor stands here",
            "add one, as in `- {key: remote_address, limit: 100/minute}`",
        );
        return None;
    }
    if depth > Descriptors::DEPTH_MAX {
        let help = format!("a descriptor has at most {} entries", Descriptors::DEPTH_MAX);
        sink.report(place, "descriptors are nested too deeply", help);
        return None;
    }
    let mut level = Some(Level::default());
    for at in &list.0.0 {
        let Some((key, values, node)) = entry(at, depth, sink) else {
            level = None;
            continue;
        };
        let said = shown(&key).to_string();
        if let Some(known) = &mut level
            && known.insert(key, values, node).is_some()
        {
            let help = "put what follows them under one entry, or remove one of the two";
            sink.report(at.place, format!("{said} stands here twice with the same value"), help);
            level = None;
        }
    }
    level
}

fn entry(at: &At<DescriptorBody>, depth: usize, sink: &mut Sink) -> Option<(String, Values, Node)> {
    let body = &at.value;
    let key = body.key.given().and_then(|key| filled(key, "`key`", sink));
    let values = match &body.value {
        Field::Absent => Some(Values::Any),
        Field::Wrong => None,
        Field::Given(value) => values(value, sink),
    };
    let limit = limit(body, sink);
    let below = match &body.descriptors {
        Field::Absent => Some(Level::default()),
        Field::Wrong => None,
        Field::Given(list) => level(&list.value, list.place, depth + 1, sink),
    };
    let node = Node { limit: limit?, below: below? };
    if node.limit.is_none() && body.descriptors.is_absent() {
        let help = "add `limit: 100/minute`, or `descriptors` that follow it";
        sink.report(at.place, "nothing is said about this descriptor", help);
        return None;
    }
    Some((key?, values?, node))
}

fn filled(text: &At<Verbatim>, what: &str, sink: &mut Sink) -> Option<String> {
    if text.value.0.is_empty() {
        sink.report(text.place, format!("{what} is empty"), "write what Envoy sends");
        return None;
    }
    Some(text.value.0.clone())
}

fn values(value: &At<Verbatim>, sink: &mut Sink) -> Option<Values> {
    let text = &value.value.0;
    match text.strip_suffix('*') {
        Some("") => {
            let help = "leave `value` out: without it, every value is meant";
            sink.report(value.place, "`*` alone stands for every value", help);
            None
        }
        Some(start) => Some(Values::StartsWith(start.to_owned())),
        None => Some(Values::Is(text.clone())),
    }
}

/// The limit of an entry, if it has one; nothing if it cannot be meant.
fn limit(body: &DescriptorBody, sink: &mut Sink) -> Option<Option<DescriptorLimit>> {
    let enforcement = match body.shadow_mode.value() {
        Some(true) => Enforcement::Counts,
        Some(false) | None => Enforcement::Refuses,
    };
    let (rule, name) = match (&body.limit, &body.rate_limit) {
        (Field::Wrong, _) | (_, Field::Wrong) => return None,
        (Field::Absent, Field::Absent) => return no_limit(body, sink),
        (Field::Given(_), Field::Given(at)) => {
            sink.report(at.key, "`limit` and `rate_limit` both say how much", "keep one of the two");
            return None;
        }
        (Field::Given(_), Field::Absent) => (Some(own_rule(body, sink)?), &body.name),
        (Field::Absent, Field::Given(at)) => {
            no_limit(body, sink)?;
            let name = if at.value.name.is_absent() { &body.name } else { &at.value.name };
            (envoy_rule(at, sink)?, name)
        }
    };
    Some(Some(DescriptorLimit { name: limit_name(name, sink)?, rule, enforcement }))
}

/// Reports what only belongs to `limit`.
fn no_limit(body: &DescriptorBody, sink: &mut Sink) -> Option<Option<DescriptorLimit>> {
    let algorithm = body.algorithm.given().map(|at| (at.key, "`algorithm`"));
    let burst = body.burst.given().map(|at| (at.key, "`burst`"));
    let Some((place, what)) = algorithm.or(burst) else { return Some(None) };
    sink.report(
        place,
        format!("{what} belongs to a `limit`, which is not here"),
        "write `limit: 100/minute` beside it",
    );
    None
}

fn own_rule(body: &DescriptorBody, sink: &mut Sink) -> Option<Rule> {
    let algorithm = match (&body.algorithm, body.algorithm.value()) {
        (Field::Wrong, _) => return None,
        (_, None | Some(DescriptorAlgorithm::FixedWindow)) => Algorithm::FixedWindow,
        (_, Some(DescriptorAlgorithm::TokenBucket)) => Algorithm::TokenBucket,
        (_, Some(DescriptorAlgorithm::SlidingWindow)) => Algorithm::SlidingWindow,
        (_, Some(DescriptorAlgorithm::SlidingBuckets)) => Algorithm::SlidingBuckets,
        (_, Some(DescriptorAlgorithm::SlidingLog)) => Algorithm::SlidingLog,
    };
    let limit = LimitBody {
        algorithm: Field::Absent,
        limit: body.limit.clone(),
        burst: body.burst.clone(),
        routes: Field::Absent,
        per: Field::Absent,
        axis: Field::Absent,
        status: Field::Absent,
        on_exceeded: Field::Absent,
        overage_cap: Field::Absent,
        lease: Field::Absent,
    };
    rule::rule(algorithm, &limit, sink)
}

/// The rule of `rate_limit`; within, nothing where everything passes.
fn envoy_rule(at: &At<RateLimitBody>, sink: &mut Sink) -> Option<Option<Rule>> {
    let body = &at.value;
    let counted = [body.unit.given().map(|at| at.key), body.requests_per_unit.given().map(|at| at.key)];
    if body.unlimited.value() == Some(&true) {
        if let Some(place) = counted.into_iter().flatten().next() {
            sink.report(place, "what is unlimited has no amount", "remove it, or `unlimited`");
            return None;
        }
        return Some(None);
    }
    if body.unit.is_absent() || body.requests_per_unit.is_absent() {
        let help = "write both, as in `{unit: minute, requests_per_unit: 100}`";
        sink.report(at.place, "`rate_limit` needs `unit` and `requests_per_unit`", help);
    }
    let per_unit = body.requests_per_unit.given()?;
    let amount = range::amount(per_unit.value.0, Amount::MAX, "`requests_per_unit`", per_unit.place, sink);
    let window = Window::from_secs(seconds(*body.unit.value()?));
    Some(Some(Rule::FixedWindow(Windowed { limit: amount?, window: window? })))
}

fn seconds(unit: UnitWord) -> u64 {
    const DAY: u64 = 86_400;
    match unit {
        UnitWord::Second => 1,
        UnitWord::Minute => 60,
        UnitWord::Hour => 3_600,
        UnitWord::Day => DAY,
        UnitWord::Week => 7 * DAY,
        UnitWord::Month => 30 * DAY,
        UnitWord::Year => 365 * DAY,
    }
}

fn limit_name(name: &Field<Text>, sink: &mut Sink) -> Option<LimitName> {
    match name {
        Field::Wrong => None,
        Field::Absent => LimitName::new(NAME_DEFAULT),
        Field::Given(at) => {
            let name = LimitName::new(&at.value.0).filter(|name| !name.is_reserved());
            if name.is_none() {
                report_bad_name("limit", &at.value.0, at.place, sink);
            }
            name
        }
    }
}
