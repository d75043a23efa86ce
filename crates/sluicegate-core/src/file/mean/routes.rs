//! What `routes` mean: patterns that can match, each with its cost.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{At, CaseWord, Field, Named, NamedEntry, RepeatsWord, RouteBody, Text};
use crate::file::yaml::shown;
use crate::limit::LimitName;
use crate::policy::route::{BadPattern, Case, Pattern};
use crate::policy::{Repeats, Route, Routes};
use crate::rule::Amount;

/// The names of all routes, in the order of the file: what limits may name even where a route itself is wrong.
pub(super) fn names(field: &Field<Named<RouteBody>>) -> Option<Vec<&str>> {
    match field {
        Field::Absent => Some(Vec::new()),
        Field::Wrong => None,
        Field::Given(at) => Some(at.value.0.iter().map(|entry| entry.name.as_str()).collect()),
    }
}

/// All routes; nothing if one of them cannot be meant.
pub(super) fn routes(field: &Field<Named<RouteBody>>, sink: &mut Sink) -> Option<Routes> {
    let named = match field {
        Field::Absent => return Some(Routes::default()),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    let entries = &named.value.0;
    if entries.len() > Routes::COUNT_MAX {
        let message = format!("{} routes are too many", entries.len());
        let help =
            format!("at most {} fit; let `*` and `**` stand for the parts that differ", Routes::COUNT_MAX);
        sink.report(named.key, message, help);
        return None;
    }
    let meant: Vec<Option<(Place, Route)>> = entries.iter().map(|entry| route(entry, sink)).collect();
    report_covered(meant.iter().flatten(), sink);
    let all: Option<Vec<Route>> = meant.into_iter().map(|route| Some(route?.1)).collect();
    all.map(Routes::new)
}

/// One route with the place of its pattern.
fn route(entry: &NamedEntry<RouteBody>, sink: &mut Sink) -> Option<(Place, Route)> {
    // The alphabet of limit names: a route's name stands in metrics, the ledger and `limits`.
    let name = LimitName::new(&entry.name);
    if name.is_none() {
        report_bad_name("route", &entry.name, entry.place, sink);
    }
    let body = entry.body.as_ref()?;
    let case = match body.case.value() {
        Some(CaseWord::Sensitive) => Case::Sensitive,
        Some(CaseWord::Insensitive) | None => Case::Insensitive,
    };
    let pattern = |at: &At<Text>| Some((at.place, pattern(at, sink)?.with_case(case)));
    let pattern = body.pattern.given().and_then(pattern);
    let cost = match body.cost.given() {
        Some(at) => super::range::amount(at.value.0, Amount::MAX, "`cost`", at.place, sink).map(Amount::get),
        None => Some(Route::COST_DEFAULT),
    };
    let scope = match body.scope.given() {
        Some(at) => scope(at, sink),
        None => Some(None),
    };
    let upstream = match body.upstream.given() {
        Some(at) => super::server::upstream_url(at, sink).map(Some),
        None => Some(None),
    };
    let repeats = match body.repeats.value() {
        Some(RepeatsWord::Charged) => Repeats::Charged,
        Some(RepeatsWord::Free) => Repeats::Free,
        Some(RepeatsWord::AfterFailure) | None => Repeats::AfterFailure,
    };
    let (place, pattern) = pattern?;
    let (name, cost, scope, upstream) = (name?.as_str().to_owned(), cost?, scope?, upstream?);
    let route = Route { name, pattern, cost, scope, upstream, repeats };
    Some((place, route))
}

/// Says what names are made of.
pub(super) fn report_bad_name(kind: &str, name: &str, place: Place, sink: &mut Sink) {
    let message = format!("{} cannot name a {kind}", shown(name));
    let help = format!(
        "use 1 to {} lower-case letters, digits and `.`, `_`, `-`, with a letter or digit first",
        LimitName::LENGTH_MAX
    );
    sink.report(place, message, help);
}

/// The scope that requests need which match no route.
pub(super) fn default_scope(field: &Field<Text>, sink: &mut Sink) -> Option<Option<String>> {
    field.given().map_or(Some(None), |at| scope(at, sink))
}

/// A scope: printable and without spaces, so that a list of them can be separated by spaces.
fn scope(at: &At<Text>, sink: &mut Sink) -> Option<Option<String>> {
    let text = &at.value.0;
    if text.bytes().all(|c| c.is_ascii_graphic()) {
        return Some(Some(text.clone()));
    }
    let help = "use letters, digits and punctuation, such as convert:write; one scope only";
    sink.report(at.place, format!("{} is no scope", shown(text)), help);
    None
}

fn pattern(at: &At<Text>, sink: &mut Sink) -> Option<Pattern> {
    let problem = match Pattern::parse(&at.value.0) {
        Ok(pattern) => return Some(pattern),
        Err(problem) => problem,
    };
    let (message, help) = match problem {
        BadPattern::NoPath => (
            "this pattern has no path, so it can never match",
            "write a path that starts with `/`, as in `GET /api/search/**`",
        ),
        BadPattern::Method => (
            "this method is not in capital letters, so it can never match",
            "write the method as it is sent, such as GET or POST, or leave it out",
        ),
        BadPattern::OpenInTheMiddle => (
            "`**` stands before the end of this pattern",
            "use `*` for one segment; `**` may only be the last one",
        ),
        BadPattern::PartialWildcard => (
            "a segment of this pattern mixes `*` with other characters",
            "let `*` stand for a whole segment, as in `/users/*/keys`",
        ),
        BadPattern::NeverArrives => (
            "no request ever has this path",
            "remove empty segments, `.`, `..`, spaces, `?`, `#` and `\\`: paths are matched without their query",
        ),
        BadPattern::TooLong => ("this pattern has too many segments", "end it earlier with `**`"),
    };
    sink.report(at.place, message, help);
    None
}

/// Reports every route that an earlier one takes all requests from.
fn report_covered<'r>(routes: impl Iterator<Item = &'r (Place, Route)>, sink: &mut Sink) {
    let mut earlier: Vec<(&Pattern, &str)> = Vec::new();
    for (place, route) in routes {
        let first = earlier.iter().find(|(pattern, _)| pattern.covers(&route.pattern));
        if let Some((pattern, name)) = first {
            let message = format!(
                "the route `{}` can never match: `{name}` above takes all of its requests",
                route.name
            );
            let help = match route.pattern.covers(pattern) {
                true if route.pattern.to_string() != pattern.to_string() => {
                    "they differ in case alone: write `case: sensitive` in both, or remove one".to_owned()
                }
                true => "both match the same requests: remove one of the two".to_owned(),
                false => format!("move `{}` above `{name}`, or remove it", route.name),
            };
            sink.report(*place, message, help);
        }
        earlier.push((&route.pattern, &route.name));
    }
}
