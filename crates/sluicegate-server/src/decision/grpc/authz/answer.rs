//! The answer of external authorization.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CACHE_CONTROL;
use sluicegate_engine::{Decision, Denial, problem};

use crate::decision::grpc::message::authz::{
    CheckResponse, DeniedHttpResponse, HttpResponse, HttpStatus, OkHttpResponse, RpcStatus,
};
use crate::decision::grpc::message::header::HeaderValueOption;
use crate::decision::grpc::status::Code;
use crate::decision::outcome::{self, Line, OURS};
use crate::decision::refusal::Refusal;

/// The request may pass: who called goes to the upstream, what the limits say to the caller.
pub(super) fn admitted(decision: &Decision, headers: &HeaderMap) -> CheckResponse {
    let caller = outcome::caller(decision).into_iter().filter_map(|(name, value)| Some((name, value?)));
    let to_upstream: Vec<HeaderValueOption> = caller.map(HeaderValueOption::from).collect();
    let is_set = |name: &str| {
        let mut set = to_upstream.iter().filter_map(|option| option.header.as_ref());
        set.any(|header| header.key == name.as_bytes())
    };
    // A proxy may remove last. What is set replaces what the caller sent, so that only the rest has to go.
    let spoofed = headers.keys().filter(|name| name.as_str().starts_with(OURS) && !is_set(name.as_str()));
    let headers_to_remove = spoofed.map(|name| name.as_str().to_owned()).collect();
    let response_headers_to_add = decision.headers().shared().map(HeaderValueOption::from).collect();
    let ok = OkHttpResponse { headers: to_upstream, headers_to_remove, response_headers_to_add };
    CheckResponse { status: Some(status(Code::Ok, "")), http_response: Some(HttpResponse::Ok(ok)) }
}

/// It may not: the caller gets the answer that a gateway would give. Who it is, is for the upstream.
#[cold]
pub(super) fn denied(decision: &Decision, denial: &Denial) -> CheckResponse {
    let lines = decision.headers();
    let lines = lines.shared().chain(outcome::demand(denial));
    let document = problem::of_denial(decision, denial);
    response(denial.status, denial.error.as_str(), lines, document)
}

/// It is none that a gateway would forward.
#[cold]
pub(super) fn refused(refusal: &Refusal) -> CheckResponse {
    response(refusal.status(), refusal.error(), [].into_iter(), refusal.document())
}

fn response(
    http_status: u16,
    error: &str,
    lines: impl Iterator<Item = Line>,
    document: String,
) -> CheckResponse {
    let always = [outcome::problem_type(), (&CACHING, Bytes::from_static(b"no-store"))];
    let denied = DeniedHttpResponse {
        status: Some(HttpStatus { code: http_status.into() }),
        headers: lines.chain(always).map(HeaderValueOption::from).collect(),
        body: document,
    };
    let status = status(Code::of_http(http_status), error);
    CheckResponse { status: Some(status), http_response: Some(HttpResponse::Denied(denied)) }
}

static CACHING: http::HeaderName = CACHE_CONTROL;

fn status(code: Code, message: &str) -> RpcStatus {
    RpcStatus { code: code.number().into(), message: message.to_owned() }
}
