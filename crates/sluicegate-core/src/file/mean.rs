//! From what was typed to what is meant: values are put together and checked against each other.
//!
//! A part that cannot be meant is nothing, after its problem was reported; the parts beside it are still looked at.

use super::sink::Sink;
use super::typed::{DocumentBody, Field, Span};
use crate::policy::{Document, Policy, StoreSettings};
use crate::time::{Nanos, Window};

mod abuse;
mod allowance;
mod bucket;
mod clock;
mod costs;
mod credentials;
mod descriptors;
mod identity;
mod jwt;
mod ledger;
mod limit;
mod log;
mod overage;
mod quota;
mod range;
mod routes;
mod rule;
mod server;
mod shadow;
mod shedding;
mod tier;
mod tiers;

pub(super) use tier::tier;

/// The whole file.
pub(super) fn document(typed: &DocumentBody, sink: &mut Sink) -> Option<Document> {
    // Routes before tiers, which name them; tiers before identity, which names one.
    let routes = routes::routes(&typed.routes, sink);
    let default_scope = routes::default_scope(&typed.default_scope, sink);
    let route_names = routes::names(&typed.routes);
    let tiers = tiers::tiers(&typed.tiers, route_names.as_deref(), sink);
    if let (Some(routes), Some(tiers)) = (&routes, &tiers) {
        costs::report(&typed.routes, routes, tiers, sink);
    }
    let identity = identity::identity(&typed.identity, &typed.tiers, sink);
    let server = section(&typed.server, |body| server::server(body, sink));
    let store = match typed.store.given() {
        Some(text) => server::store(text, sink),
        None => Some(StoreSettings::Embedded),
    };
    let descriptors = descriptors::descriptors(&typed.descriptors, sink);
    let edge = optional(&typed.edge, |body| abuse::edge(body, sink));
    let reputation = optional(&typed.reputation, |body| abuse::reputation(body, sink));
    let blocks = optional(&typed.blocks, |body| abuse::blocks(body, sink));
    // An `anonymous` that was wrong is reported already; what depends on it is moot.
    let has_anonymous = identity.as_ref().is_some_and(|identity| identity.anonymous.is_some());
    let pressure = abuse::pressure(&typed.pressure, has_anonymous, sink);
    let shedding = optional(&typed.shedding, |body| shedding::shedding(body, sink));
    let degraded = section(&typed.degraded, |body| Some(abuse::degraded(body)));
    let responses = section(&typed.responses, |body| Some(ledger::responses(body, sink)));
    let ledger = ledger::ledger(&typed.ledger, tiers.as_ref(), sink);
    let alerts = section(&typed.alerts, |body| ledger::alerts(body, sink));
    let clock = section(&typed.clock, |body| clock::clock(body, sink));
    Some(Document {
        server: server?,
        store: store?,
        policy: Policy {
            identity: identity?,
            tiers: tiers?,
            routes: routes?,
            default_scope: default_scope?,
            descriptors: descriptors?,
            edge: edge?,
            reputation: reputation?,
            blocks: blocks?,
            pressure: pressure?,
            shedding: shedding?,
            degraded: degraded?,
            responses: responses?,
            ledger: ledger?,
            alerts: alerts?,
            clock: clock?,
        },
    })
}

/// A section that has a meaning when it is absent.
fn section<B, T: Default>(field: &Field<B>, mean: impl FnOnce(&B) -> Option<T>) -> Option<T> {
    match field {
        Field::Absent => Some(T::default()),
        Field::Wrong => None,
        Field::Given(at) => mean(&at.value),
    }
}

/// A section that is switched off when it is absent.
fn optional<B, T>(field: &Field<B>, mean: impl FnOnce(&B) -> Option<T>) -> Option<Option<T>> {
    match field {
        Field::Absent => Some(None),
        Field::Wrong => None,
        Field::Given(at) => mean(&at.value).map(Some),
    }
}

/// The window that was typed, or the default.
fn window(field: &Field<Span>, default: Window, sink: &mut Sink) -> Option<Window> {
    let Some(at) = field.given() else {
        return Some(default);
    };
    let window = Window::from_secs(at.value.secs);
    if window.is_none() {
        let help = format!("the longest is {}", Window::MAX);
        sink.report(at.place, "this duration is too long", help);
    }
    window
}

/// The duration that was typed, at most as long as a window may be, or the default.
fn duration(field: &Field<Span>, default: Nanos, sink: &mut Sink) -> Option<Nanos> {
    match field.given() {
        Some(_) => window(field, Window::MAX, sink).map(|window| Nanos(window.as_nanos())),
        None => Some(default),
    }
}
