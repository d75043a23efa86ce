//! Answers, as messages. None of them may be kept by a cache.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use sluicegate_engine::problem;

use super::{Reply, ReplyBody};

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static(problem::CONTENT_TYPE);

/// A JSON document.
pub(super) fn json(document: String) -> Reply {
    let mut reply = with_body(StatusCode::OK, Bytes::from(document));
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply
}

/// A problem document.
pub(super) fn problem(status: u16, document: String) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = with_body(status, Bytes::from(document));
    reply.headers_mut().insert(CONTENT_TYPE, PROBLEM);
    reply
}

/// An answer that says everything in its headers.
pub(super) fn bare(status: StatusCode) -> Reply {
    with_body(status, Bytes::new())
}

fn with_body(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(ReplyBody::whole(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    reply
}
