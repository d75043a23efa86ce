//! What `timeouts` and `max` of the server mean.

use std::num::NonZeroU64;
use std::time::Duration;

use super::range::{amount, at_most, count, readable};
use crate::file::sink::Sink;
use crate::file::typed::{Field, MaximaBody, PerAddressBody, Span, TimeoutsBody, TunnelsBody, Whole};
use crate::policy::{Maxima, PerAddress, ServerSettings, Timeouts, TunnelSettings};
use crate::rule::Amount;

/// A request that takes longer is not one that somebody waits for.
const LONGEST_SECS: u64 = 24 * 60 * 60;

pub(super) fn timeouts(body: &TimeoutsBody, sink: &mut Sink) -> Option<Timeouts> {
    let connect = wait(&body.connect, Timeouts::CONNECT_DEFAULT, sink);
    let read = wait(&body.read, Timeouts::READ_DEFAULT, sink);
    let idle = wait(&body.idle, Timeouts::IDLE_DEFAULT, sink);
    let keep_alive = wait(&body.keep_alive, Timeouts::KEEP_ALIVE_DEFAULT, sink);
    let header = wait(&body.header, Timeouts::HEADER_DEFAULT, sink);
    let stream_idle = wait(&body.stream_idle, Timeouts::STREAM_IDLE_DEFAULT, sink);
    let request = optional_wait(&body.request, sink);
    Some(Timeouts {
        connect: connect?,
        read: read?,
        idle: idle?,
        stream_idle: stream_idle?,
        request: request?,
        keep_alive: keep_alive?,
        header: header?,
    })
}

pub(super) fn tunnels(body: &TunnelsBody, sink: &mut Sink) -> Option<TunnelSettings> {
    let idle = wait(&body.idle, TunnelSettings::IDLE_DEFAULT, sink);
    let max_age = optional_wait(&body.max_age, sink);
    let cost_per_minute = cost(&body.cost_per_minute, "`cost_per_minute`", sink);
    let cost_per_mib = cost(&body.cost_per_mib, "`cost_per_mib`", sink);
    Some(TunnelSettings {
        idle: idle?,
        max_age: max_age?,
        cost_per_minute: cost_per_minute?,
        cost_per_mib: cost_per_mib?,
    })
}

/// A cost that nothing is charged for unless it is given.
fn cost(field: &Field<Whole>, what: &str, sink: &mut Sink) -> Option<Option<Amount>> {
    match field.given() {
        None => Some(None),
        Some(at) => amount(at.value.0, TunnelSettings::COST_MAX, what, at.place, sink).map(Some),
    }
}

pub(super) fn min_body_rate(field: &Field<Whole>, sink: &mut Sink) -> Option<Option<NonZeroU64>> {
    match field.given() {
        None => Some(None),
        Some(at) => {
            let max = ServerSettings::MIN_BODY_RATE_MAX;
            at_most(at.value.0, max, "`min_body_rate`", at.place, sink).map(NonZeroU64::new)
        }
    }
}

/// A duration without a default: absent means no maximum.
fn optional_wait(field: &Field<Span>, sink: &mut Sink) -> Option<Option<Duration>> {
    match field.given() {
        None => Some(None),
        Some(_) => wait(field, Duration::MAX, sink).map(Some),
    }
}

fn wait(field: &Field<Span>, default: Duration, sink: &mut Sink) -> Option<Duration> {
    let Some(at) = field.given() else {
        return Some(default);
    };
    if at.value.secs > LONGEST_SECS {
        sink.report(at.place, "this duration is too long", "the longest is 24h");
        return None;
    }
    Some(Duration::from_secs(at.value.secs))
}

pub(super) fn maxima(body: &MaximaBody, sink: &mut Sink) -> Option<Maxima> {
    let length = match body.body.given() {
        None => Some(Maxima::BODY_DEFAULT),
        Some(at) => at_most(at.value.0, Maxima::BODY_MAX, "`body`", at.place, sink),
    };
    let header_count = count(
        &body.header_count,
        Maxima::HEADER_COUNT_DEFAULT,
        Maxima::HEADER_COUNT_MAX,
        "`header_count`",
        sink,
    );
    let headers = headers(&body.headers, sink);
    let uri = count(&body.uri, Maxima::URI_DEFAULT, Maxima::URI_MAX, "`uri`", sink);
    let connections =
        count(&body.connections, Maxima::CONNECTIONS_DEFAULT, Maxima::CONNECTIONS_MAX, "`connections`", sink);
    let clients = count(&body.clients, Maxima::CLIENTS_DEFAULT, Maxima::CLIENTS_MAX, "`clients`", sink);
    let per_address =
        per_address(&body.per_address, connections.unwrap_or(Maxima::CONNECTIONS_DEFAULT), sink);
    Some(Maxima {
        body: length?,
        headers: headers?,
        header_count: header_count?,
        uri: uri?,
        connections: connections?,
        clients: clients?,
        per_address: per_address?,
    })
}

fn per_address(field: &Field<PerAddressBody>, connections: u32, sink: &mut Sink) -> Option<PerAddress> {
    let default = PerAddress::of(connections);
    let body = match field {
        Field::Absent => return Some(default),
        Field::Wrong => return None,
        Field::Given(at) => &at.value,
    };
    let max = Maxima::CONNECTIONS_MAX;
    let connections = count(&body.connections, default.connections, max, "`connections`", sink);
    let requests = count(&body.requests, default.requests, max, "`requests`", sink);
    let handshakes = count(&body.handshakes, default.handshakes, max, "`handshakes`", sink);
    Some(PerAddress { connections: connections?, requests: requests?, handshakes: handshakes? })
}

fn headers(field: &Field<Whole>, sink: &mut Sink) -> Option<u32> {
    let bytes = count(field, Maxima::HEADERS_DEFAULT, Maxima::HEADERS_MAX, "`headers`", sink)?;
    if let Some(at) = field.given()
        && bytes < Maxima::HEADERS_MIN
    {
        let (min, max) = (readable(Maxima::HEADERS_MIN.into()), readable(Maxima::HEADERS_MAX.into()));
        let message = format!("`headers` may not be less than {min} here");
        sink.report(at.place, message, format!("write a number from {min} to {max}"));
        return None;
    }
    Some(bytes)
}
