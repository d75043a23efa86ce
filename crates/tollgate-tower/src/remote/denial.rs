//! Denials that were decided elsewhere, as the gateway there would answer them.

use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use tollgate_client::decision::{CallError, Decision, Problem};
use tollgate_core::answer::ErrorCode;
use tollgate_core::problem::{self as document, Denied};

use super::unreachable::Undecided;
use crate::body::GuardedBody;
use crate::denial::problem;

/// How long callers wait while nothing can be decided: about as long as a server takes to start.
const RETRY_AFTER_S: u16 = 1;

/// The answer to a request that may not pass.
pub(super) fn decided<R>(decision: &Decision) -> Response<GuardedBody<R>> {
    let status = decision.status;
    let word = decision.error.as_deref().unwrap_or("refused");
    let document = match ErrorCode::parse(word) {
        Some(error) => document::denied(&Denied {
            error,
            status: status.as_u16(),
            tier: decision.tier.as_deref(),
            limit: decision.limit.as_deref(),
            retry_after_ms: decision.retry_after_ms,
            decision_id: Some(&decision.decision_id),
        }),
        // A word of a Tollgate that is newer than this.
        None => document::undecided(word, title(status), status.as_u16(), "The request may not pass."),
    };
    let mut response = problem(status, document);
    response.headers_mut().extend(decision.headers.clone());
    response
}

/// The answer to a request about which nothing needs to be asked: something is wrong with it.
pub(super) fn wrong<R>(error: ErrorCode) -> Response<GuardedBody<R>> {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    problem(status, document::denied(&undecided(error, 0)))
}

/// The answer to a request that Tollgate does not decide on, because of what the caller wrote.
pub(super) fn malformed<R>(problem_of: &Problem) -> Response<GuardedBody<R>> {
    let status = StatusCode::BAD_REQUEST;
    let detail = problem_of.detail.as_deref().unwrap_or("The request is malformed.");
    problem(status, document::undecided("bad_request", title(status), status.as_u16(), detail))
}

/// The answer while nothing can be decided.
pub(super) fn unavailable<R>(why: Undecided) -> Response<GuardedBody<R>> {
    let denied = undecided(ErrorCode::Unavailable, u64::from(RETRY_AFTER_S) * 1_000);
    let mut response = problem(StatusCode::SERVICE_UNAVAILABLE, document::denied(&denied));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    response.extensions_mut().insert(why);
    response
}

/// What Tollgate says is wrong with a call, if the caller's own words are: its path, or its method.
pub(super) fn blames_the_caller(error: &CallError) -> Option<&Problem> {
    let CallError::Refused(problem) = error else { return None };
    let field = problem.field.as_deref();
    (problem.status == StatusCode::BAD_REQUEST && matches!(field, Some("path" | "method"))).then_some(problem)
}

fn undecided(error: ErrorCode, retry_after_ms: u64) -> Denied<'static> {
    Denied { error, status: error.status(), tier: None, limit: None, retry_after_ms, decision_id: None }
}

fn title(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}
