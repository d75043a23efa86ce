//! `ANY /v1/forward-auth`: proxies ask with the headers of the request that they hold.
//!
//! Nobody calls back when that request has ended. So it is charged, but holds no place among those in flight: the one
//! it was given is freed before the answer is.

mod nginx;
mod original;

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue, Request, StatusCode};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{
    Answer, CallerRequest, Credential, Decision, Engine, Front, Hold, Purpose, identify::NameHeader, problem,
};

use original::Original;

use crate::listen::Peer;

use super::json::Wrong;
use super::outcome::{self, Line};
use super::refusal::Refusal;
use super::{Reply, reply};

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
    let dialect = match dialect(request.uri.query(), original::query(&request.headers)) {
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
        Dialect::Nginx => nginx::refusal(reply, error).await,
    }
}

/// How the proxy says it wants its answer: behind the address that it asks.
///
/// Some put the caller's own query there, as Caddy does where its `uri` has none. That says nothing about the proxy.
fn dialect(query: Option<&str>, of_caller: Option<&str>) -> Result<Dialect, Refusal> {
    const NGINX: &str = "dialect=nginx";
    if query != Some(NGINX) && query == of_caller {
        return Ok(Dialect::Plain);
    }
    let mut dialect = Dialect::Plain;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let detail = match pair {
            NGINX => {
                dialect = Dialect::Nginx;
                continue;
            }
            _ if pair.starts_with("dialect=") => "\"dialect\" must be nginx, or not be there.",
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
    let request = CallerRequest {
        credential: Credential::Headers(headers),
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
    name_caller(headers, decision);
    reply
}

fn denied(decision: &Decision) -> Reply {
    let Answer::Denied(denial) = &decision.answer else { return admitted(decision) };
    let mut reply = reply::problem(denial.status, problem::of_denial(decision, denial));
    let headers = reply.headers_mut();
    put(headers, decision.headers().shared());
    put(headers, outcome::demand(denial));
    name_caller(headers, decision);
    reply
}

/// Who it was, for the proxy to log or to pass on. Each of them is always there, empty if there is nothing to say: a
/// proxy that copies them to the request replaces whatever the caller sent under these names.
fn name_caller(headers: &mut HeaderMap, decision: &Decision) {
    put(headers, outcome::caller(decision).map(|(name, value)| (name, value.unwrap_or_default())));
}

fn put(headers: &mut HeaderMap, lines: impl IntoIterator<Item = Line>) {
    for (name, value) in lines {
        // What no header can hold is left empty.
        let value = HeaderValue::from_maybe_shared(value);
        headers.insert(name, value.unwrap_or_else(|_| HeaderValue::from_static("")));
    }
}
