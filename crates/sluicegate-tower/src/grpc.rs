//! Refusals of gRPC calls: answers that are trailers only.
//!
//! A gRPC client reads the status of a call from `grpc-status`, never from a body. So a refusal is HTTP 200 with its
//! status among the headers and nothing after them.

use std::fmt;
use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use sluicegate_core::grpc_status::{self, GrpcCode};

static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
static RETRY_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
static ERROR: HeaderName = HeaderName::from_static("x-sluicegate-error");
static DECISION: HeaderName = HeaderName::from_static("x-sluicegate-decision");

/// A gRPC call, as far as its refusal depends on it.
#[derive(Clone, Debug)]
pub struct GrpcCall {
    content_type: HeaderValue,
}

/// What a request is, which says where the status of its answer stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// Any request: the status of HTTP is all there is.
    Http,
    /// A gRPC call: it may fail with 200.
    Grpc,
}

impl Protocol {
    /// Of a request.
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Self {
        if GrpcCall::of(method, headers).is_some() { Self::Grpc } else { Self::Http }
    }
}

/// Why a gRPC call is refused.
#[derive(Clone, Copy, Debug)]
pub struct GrpcRefusal<'a> {
    /// The HTTP status that any other request would be answered with.
    pub status: StatusCode,
    /// The error code, as in a problem document.
    pub error: &'a str,
    /// The sentence for people, as in a problem document.
    pub detail: &'a str,
    /// After how long it would be admitted; zero where that is not known or waiting does not help.
    pub retry_after_ms: u64,
    /// The id of the decision, if one was made.
    pub decision_id: Option<&'a str>,
}

impl GrpcCall {
    /// The call that a request is; none if it is no gRPC call. Calls are POST: any other request that claims to be one
    /// gets an ordinary answer, which no cache takes for a success.
    pub fn of(method: &Method, headers: &HeaderMap) -> Option<Self> {
        if method != Method::POST {
            return None;
        }
        let media_type = grpc_status::media_type(headers)?;
        Some(Self { content_type: HeaderValue::from_str(media_type).ok()? })
    }

    /// The answer to a call that is refused. It has no body.
    pub fn refused(self, refusal: &GrpcRefusal<'_>) -> Response<()> {
        let http_status = refusal.status.as_u16();
        let mut response = Response::new(());
        response.extensions_mut().insert(RefusalStatus(refusal.status));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let code = GrpcCode::of_http(http_status);
        headers.insert(&GRPC_STATUS, HeaderValue::from(u16::from(code.number())));
        let message = grpc_status::message(refusal.error, refusal.detail);
        let text = [
            (&GRPC_MESSAGE, Some(message.as_str())),
            (&ERROR, Some(refusal.error)),
            (&DECISION, refusal.decision_id),
        ];
        for (name, value) in text {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        if let Some(pushback) = grpc_status::retry_pushback_ms(http_status, refusal.retry_after_ms) {
            headers.insert(&RETRY_PUSHBACK, HeaderValue::from(pushback));
        }
        response
    }
}

/// The HTTP status that stands for a refusal, in the extensions of an answer to a gRPC call. The answer itself has 200,
/// as gRPC wants it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusalStatus(pub StatusCode);

impl RefusalStatus {
    /// The status to log and count an answer by: that of the refusal, or else that of the answer.
    pub fn of<B>(response: &Response<B>) -> StatusCode {
        response.extensions().get::<Self>().map_or(response.status(), |refusal| refusal.0)
    }

    /// The status to finish a request with. A gRPC call that failed at the service is answered with 200; it counts as a
    /// 500. What an answer to any other request says of gRPC means nothing.
    pub(crate) fn to_finish<B>(response: &Response<B>, protocol: Protocol) -> StatusCode {
        let status = Self::of(response);
        let is_call = protocol == Protocol::Grpc;
        if is_call && status.is_success() && grpc_status::is_server_failure(response.headers()) {
            return StatusCode::INTERNAL_SERVER_ERROR;
        }
        status
    }
}

/// How the body of a request went on its way to the service, seen while the answer is read.
pub trait UploadState: fmt::Debug + Send + Sync {
    /// Whether the caller broke it off, or sent more than is allowed.
    fn is_callers_fault(&self) -> bool;
}

/// Watches the body of a gRPC call, in the extensions of its answer. The status of a call may come long after its head:
/// a failure that follows a body which the caller broke is the caller's, and gives nothing back.
#[derive(Clone, Debug)]
pub struct UploadFault(pub Arc<dyn UploadState>);

impl UploadFault {
    pub(crate) fn is_callers(&self) -> bool {
        self.0.is_callers_fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(content_type: &'static str) -> GrpcCall {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        GrpcCall::of(&Method::POST, &headers).unwrap()
    }

    #[test]
    fn a_refusal_is_its_headers_alone_in_the_type_that_was_asked_in() {
        let refusal = GrpcRefusal {
            status: StatusCode::PAYMENT_REQUIRED,
            error: "quota_exceeded",
            detail: "The quota of 50 % is spent.",
            retry_after_ms: 86_400_000,
            decision_id: Some("dec_1"),
        };
        let response = call("application/grpc-web+proto; charset=utf-8").refused(&refusal);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(RefusalStatus::of(&response), StatusCode::PAYMENT_REQUIRED);
        let expected = [
            ("content-type", "application/grpc-web+proto"),
            ("cache-control", "no-store"),
            ("grpc-status", "8"),
            ("grpc-message", "quota_exceeded: The quota of 50 %25 is spent."),
            ("x-sluicegate-error", "quota_exceeded"),
            ("x-sluicegate-decision", "dec_1"),
            ("grpc-retry-pushback-ms", "-1"),
        ];
        assert_eq!(response.headers().len(), expected.len());
        for (name, value) in expected {
            assert_eq!(response.headers()[name], value, "{name}");
        }
    }

    #[test]
    fn only_a_post_is_a_call() {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/grpc"))]);
        assert!(GrpcCall::of(&Method::POST, &headers).is_some());
        for method in [Method::GET, Method::HEAD, Method::PUT] {
            assert!(GrpcCall::of(&method, &headers).is_none(), "{method}");
        }
    }

    #[test]
    fn the_status_of_any_other_answer_is_its_own() {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        assert_eq!(RefusalStatus::of(&response), StatusCode::IM_A_TEAPOT);
    }
}
