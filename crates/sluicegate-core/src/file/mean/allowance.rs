//! What `timeouts` and `max` of the server mean.

use std::time::Duration;

use super::range::{at_most, count, readable};
use crate::file::sink::Sink;
use crate::file::typed::{Field, MaximaBody, Span, TimeoutsBody, Whole};
use crate::policy::{Maxima, Timeouts};

/// A request that takes longer is not one that somebody waits for.
const LONGEST_SECS: u64 = 24 * 60 * 60;

pub(super) fn timeouts(body: &TimeoutsBody, sink: &mut Sink) -> Option<Timeouts> {
    let connect = wait(&body.connect, Timeouts::CONNECT_DEFAULT, sink);
    let read = wait(&body.read, Timeouts::READ_DEFAULT, sink);
    let idle = wait(&body.idle, Timeouts::IDLE_DEFAULT, sink);
    let keep_alive = wait(&body.keep_alive, Timeouts::KEEP_ALIVE_DEFAULT, sink);
    let header = wait(&body.header, Timeouts::HEADER_DEFAULT, sink);
    Some(Timeouts { connect: connect?, read: read?, idle: idle?, keep_alive: keep_alive?, header: header? })
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
    Some(Maxima {
        body: length?,
        headers: headers?,
        header_count: header_count?,
        uri: uri?,
        connections: connections?,
        clients: clients?,
    })
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
