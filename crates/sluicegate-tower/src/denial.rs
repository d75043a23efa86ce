//! Denials as HTTP answers, in the form that the request asks for.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use sluicegate_core::problem::{self as document, Denied};

use crate::body::GuardedBody;
use crate::grpc::{GrpcCall, GrpcRefusal};

/// The answer to a request that may not pass, which may be a gRPC call.
#[cfg(feature = "embedded")]
pub(crate) fn denial<B>(
    decision: &sluicegate_engine::Decision,
    denial: &sluicegate_engine::Denial,
    call: Option<GrpcCall>,
) -> Response<GuardedBody<B>> {
    let denied = Denied {
        error: denial.error,
        status: denial.status,
        tier: decision.tier(),
        limit: denial.limit.as_ref().map(|limit| limit.as_str()),
        retry_after_ms: denial.retry_after.as_millis_ceil(),
        decision_id: Some(&decision.id.text()),
    };
    let detail = sluicegate_engine::problem::detail_of(decision, denial);
    let mut response = denied_because(&denied, &detail, call);
    let headers = response.headers_mut();
    headers.extend(decision.headers().to_http());
    if denial.error == sluicegate_core::answer::ErrorCode::MissingKey {
        headers.insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A denial as a gRPC status, or else as a problem document.
#[cfg(feature = "remote")]
pub(crate) fn denied_response<B>(denied: &Denied<'_>, call: Option<GrpcCall>) -> Response<GuardedBody<B>> {
    denied_because(denied, &document::detail(denied.error, denied.limit), call)
}

/// The same with this sentence instead of the one of its error.
pub(crate) fn denied_because<B>(
    denied: &Denied<'_>,
    detail: &str,
    call: Option<GrpcCall>,
) -> Response<GuardedBody<B>> {
    let status = StatusCode::from_u16(denied.status).unwrap_or(StatusCode::FORBIDDEN);
    match call {
        Some(call) => grpc_response(
            call,
            &GrpcRefusal {
                status,
                error: denied.error.as_str(),
                detail,
                retry_after_ms: denied.retry_after_ms,
                decision_id: denied.decision_id,
            },
        ),
        None => problem(status, document::denied_because(denied, detail)),
    }
}

/// A refused gRPC call: an answer that ends with its headers.
pub(crate) fn grpc_response<B>(call: GrpcCall, refusal: &GrpcRefusal<'_>) -> Response<GuardedBody<B>> {
    call.refused(refusal).map(|()| GuardedBody::text(Bytes::new()))
}

/// A problem document as an answer.
pub(crate) fn problem<B>(status: StatusCode, document: String) -> Response<GuardedBody<B>> {
    let mut response = Response::new(GuardedBody::text(Bytes::from(document)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(document::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
