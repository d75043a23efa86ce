//! Denials by a Sluicegate server, rendered as its gateway would.

use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use sluicegate_client::decision::{CallError, Decision, Problem};
use sluicegate_core::answer::ErrorCode;
use sluicegate_core::problem::{self as document, Denied};

use super::unreachable::Undecided;
use crate::body::GuardedBody;
use crate::denial::{denied_because, denied_response, grpc_response, problem};
use crate::grpc::{GrpcCall, GrpcRefusal};

/// How long callers wait while nothing can be decided: about as long as a server takes to start.
const RETRY_AFTER_S: u16 = 1;

/// What callers are told meanwhile: it is not they who are refused.
const UNREACHABLE: &str =
    "The decision service cannot be reached, so requests are not admitted. Try again as Retry-After says.";

/// The answer to a request that may not pass.
pub(super) fn decided<R>(decision: &Decision, call: Option<GrpcCall>) -> Response<GuardedBody<R>> {
    let word = decision.error.as_deref().unwrap_or("refused");
    let mut response = match ErrorCode::parse(word) {
        Some(error) => {
            let denied = Denied {
                error,
                status: decision.status.as_u16(),
                tier: decision.tier.as_deref(),
                limit: decision.limit.as_deref(),
                retry_after_ms: decision.retry_after_ms,
                decision_id: Some(&decision.decision_id),
            };
            denied_response(&denied, call)
        }
        // A word of a Sluicegate that is newer than this.
        None => plain(decision.status, word, "The request may not pass.", call),
    };
    response.headers_mut().extend(decision.headers.clone());
    response
}

/// The answer to a request about which nothing needs to be asked: something is wrong with it.
pub(super) fn wrong<R>(error: ErrorCode, call: Option<GrpcCall>) -> Response<GuardedBody<R>> {
    denied_response(&undecided(error, 0), call)
}

/// The answer to a request that Sluicegate does not decide on, because of what the caller wrote.
pub(super) fn malformed<R>(problem_of: &Problem, call: Option<GrpcCall>) -> Response<GuardedBody<R>> {
    let detail = problem_of.detail.as_deref().unwrap_or("The request is malformed.");
    plain(StatusCode::BAD_REQUEST, "bad_request", detail, call)
}

/// The answer while nothing can be decided.
pub(super) fn unavailable<R>(why: Undecided, call: Option<GrpcCall>) -> Response<GuardedBody<R>> {
    let denied = undecided(ErrorCode::Unavailable, u64::from(RETRY_AFTER_S) * 1_000);
    let mut response = denied_because(&denied, UNREACHABLE, call);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    response.extensions_mut().insert(why);
    response
}

/// What Sluicegate says is wrong with a call, if the caller's own words are: its path, or its method.
pub(super) fn blames_the_caller(error: &CallError) -> Option<&Problem> {
    let CallError::Refused(problem) = error else { return None };
    let field = problem.field.as_deref();
    (problem.status == StatusCode::BAD_REQUEST && matches!(field, Some("path" | "method"))).then_some(problem)
}

fn undecided(error: ErrorCode, retry_after_ms: u64) -> Denied<'static> {
    Denied { error, status: error.status(), tier: None, limit: None, retry_after_ms, decision_id: None }
}

/// An answer whose error code is not in the table of denials.
fn plain<R>(
    status: StatusCode,
    error: &str,
    detail: &str,
    call: Option<GrpcCall>,
) -> Response<GuardedBody<R>> {
    let Some(call) = call else {
        let title = status.canonical_reason().unwrap_or("Error");
        return problem(status, document::undecided(error, title, status.as_u16(), detail));
    };
    grpc_response(call, &GrpcRefusal { status, error, detail, retry_after_ms: 0, decision_id: None })
}
