//! Denials as HTTP answers.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use tollgate_engine::problem as document;
use tollgate_engine::{Decision, Denial, ErrorCode};

use crate::body::GuardedBody;

/// The answer to a request that may not pass.
pub fn denial<B>(decision: &Decision, denial: &Denial) -> Response<GuardedBody<B>> {
    let status = StatusCode::from_u16(denial.status).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = problem(status, document::of_denial(decision, denial));
    let headers = response.headers_mut();
    headers.extend(decision.headers().to_http());
    if denial.error == ErrorCode::MissingKey {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
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
