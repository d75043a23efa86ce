//! `ANY /v1/forward-auth`: proxies ask with the headers of the request that they hold.
//!
//! Nobody calls back when that request has ended. So it is charged, but holds no place among those in flight: the one
//! it was given is freed before the answer is.

mod original;

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use tollgate_core::time::Timestamp;
use tollgate_engine::{
    Answer, CallerRequest, Decision, Engine, Front, Hold, Purpose,
    identify::{self, NameHeader},
    problem,
};

use original::Original;

use crate::listen::Peer;

use super::json::Wrong;
use super::outcome::{self, Line, STATUS};
use super::refusal::Refusal;
use super::{Reply, reply};

const ERROR: HeaderName = HeaderName::from_static("x-tollgate-error");

/// What a proxy makes of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    /// It passes the answer on.
    Plain,
    /// It passes on 401 and 403 alone, and takes everything else for a fault.
    Nginx,
}

pub(super) async fn any<B>(engine: &Engine, request: Request<B>, peer: Option<&Peer>) -> Reply {
    // The body is nobody's business, and need not be one that tasks can share.
    let (request, _) = request.into_parts();
    let dialect = match dialect(request.uri.query()) {
        Ok(dialect) => dialect,
        Err(refusal) => return refusal.reply(),
    };
    let now = engine.now();
    let (error, reply) = match decide(engine, &request.headers, peer, now).await {
        Err(refusal) => (refusal.error(), refusal.reply()),
        Ok(mut decision) => {
            outcome::free(engine, &mut decision, now);
            match &decision.answer {
                Answer::Admitted => return admitted(&decision),
                Answer::Denied(denial) => (denial.error.as_str(), denied(&decision)),
            }
        }
    };
    match dialect {
        Dialect::Plain => reply,
        Dialect::Nginx => for_nginx(reply, error),
    }
}

fn dialect(query: Option<&str>) -> Result<Dialect, Refusal> {
    let mut dialect = Dialect::Plain;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let detail = match pair.split_once('=') {
            Some(("dialect", "nginx")) => {
                dialect = Dialect::Nginx;
                continue;
            }
            Some(("dialect", _)) => "\"dialect\" must be nginx, or not be there.",
            _ => "The only parameter here is \"dialect\".",
        };
        return Err(Wrong { field: Some("dialect".to_owned()), detail: detail.to_owned() }.into());
    }
    Ok(dialect)
}

async fn decide(
    engine: &Engine,
    headers: &HeaderMap,
    peer: Option<&Peer>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let original = Original::of(headers)?;
    let name = NameHeader::of(&original.method, headers);
    let policy = engine.policy();
    let request = CallerRequest {
        credential: identify::credential(&policy.policy().identity, headers),
        address: peer.map(|peer| engine.address_of(peer.address().ip(), headers)),
        method: &original.method,
        path: &original.path,
        cost: None,
        idempotency_key: name.name(original.query),
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::ForwardAuth,
    };
    Ok(engine.decided(&request, now).await)
}

/// The text of a header, if it passes the check.
fn checked<'h>(
    name: &str,
    value: &'h HeaderValue,
    check: impl FnOnce(Cow<'h, str>) -> Result<Cow<'h, str>, &'static str>,
) -> Result<Cow<'h, str>, Wrong> {
    // What is no text passes no check.
    check(value.to_str().unwrap_or("\u{fffd}").into()).map_err(|expected| Wrong {
        field: Some(name.to_owned()),
        detail: format!("The header \"{name}\" must be {expected}."),
    })
}

fn admitted(decision: &Decision) -> Reply {
    let mut reply = reply::bare(StatusCode::OK);
    let headers = reply.headers_mut();
    put(headers, decision.headers().shared());
    put(headers, outcome::caller(decision));
    reply
}

fn denied(decision: &Decision) -> Reply {
    let Answer::Denied(denial) = &decision.answer else { return admitted(decision) };
    let mut reply = reply::problem(denial.status, problem::of_denial(decision, denial));
    let headers = reply.headers_mut();
    put(headers, decision.headers().shared());
    put(headers, outcome::demand(denial));
    put(headers, outcome::caller(decision));
    reply
}

fn put(headers: &mut HeaderMap, lines: impl IntoIterator<Item = Line>) {
    for (name, value) in lines {
        if let Ok(value) = HeaderValue::from_maybe_shared(value) {
            headers.insert(name, value);
        }
    }
}

/// A refusal that nginx understands. What it really is stands in headers, which `auth_request_set` can read.
fn for_nginx(mut reply: Reply, error: &'static str) -> Reply {
    let status = reply.status();
    let headers = reply.headers_mut();
    headers.insert(&STATUS, HeaderValue::from(status.as_u16()));
    headers.insert(ERROR, HeaderValue::from_static(error));
    if status != StatusCode::UNAUTHORIZED {
        *reply.status_mut() = StatusCode::FORBIDDEN;
    }
    reply
}
