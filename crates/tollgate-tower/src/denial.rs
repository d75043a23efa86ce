//! Denials as HTTP answers.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use tollgate_core::problem as document;

use crate::body::GuardedBody;

/// The answer to a request that may not pass.
#[cfg(feature = "embedded")]
pub fn denial<B>(
    decision: &tollgate_engine::Decision,
    denial: &tollgate_engine::Denial,
) -> Response<GuardedBody<B>> {
    let status = StatusCode::from_u16(denial.status).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = problem(status, tollgate_engine::problem::of_denial(decision, denial));
    let headers = response.headers_mut();
    headers.extend(decision.headers().to_http());
    if denial.error == tollgate_core::answer::ErrorCode::MissingKey {
        headers.insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A problem document as an answer.
pub fn problem<B>(status: StatusCode, document: String) -> Response<GuardedBody<B>> {
    let mut response = Response::new(GuardedBody::text(Bytes::from(document)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(document::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
