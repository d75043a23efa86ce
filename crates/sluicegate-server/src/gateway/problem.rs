//! The answers that the gateway itself makes when it cannot pass on a request.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use sluicegate_engine::problem as document;
use sluicegate_tower::gateway::{GrpcCall, GrpcRefusal};

use super::download::ProxyBody;

/// Why a request is answered by the gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    BadGateway,
    GatewayTimeout,
    RequestTimeout,
    /// The caller's body broke off, or is not framed as it must be.
    BrokenBody,
    BodyTooLarge,
    UriTooLong,
    TooManyHeaders,
    Connect,
    Trace,
    /// The address has its share of requests in flight, and there are many of all.
    TooManyInFlight,
}

impl Refusal {
    const fn status(self) -> StatusCode {
        match self {
            Self::BadGateway => StatusCode::BAD_GATEWAY,
            Self::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
            Self::TooManyHeaders => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Connect | Self::Trace => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooManyInFlight => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    const fn error(self) -> &'static str {
        match self {
            Self::BadGateway => "bad_gateway",
            Self::GatewayTimeout => "gateway_timeout",
            Self::RequestTimeout => "request_timeout",
            Self::BrokenBody => "broken_body",
            Self::BodyTooLarge => "body_too_large",
            Self::UriTooLong => "uri_too_long",
            Self::TooManyHeaders => "headers_too_large",
            Self::Connect | Self::Trace => "method_not_allowed",
            Self::TooManyInFlight => "overloaded",
        }
    }

    /// Never says where the upstream is: that is nobody's business but ours.
    const fn detail(self) -> &'static str {
        match self {
            Self::BadGateway => "The service behind the gateway could not be reached, or broke off.",
            Self::GatewayTimeout => "The service behind the gateway did not answer in time.",
            Self::BrokenBody => "The request's body broke off, or is not framed as its headers say.",
            Self::RequestTimeout => "The rest of the request's body did not arrive in time.",
            Self::BodyTooLarge => "The request's body is longer than is allowed here.",
            Self::UriTooLong => "The request's path and query are longer than is allowed here.",
            Self::TooManyHeaders => "The request has more header fields than are allowed here.",
            Self::Connect => "The gateway opens no tunnels.",
            Self::TooManyInFlight => {
                "The gateway is busy, and this address has its share of the requests in flight."
            }
            Self::Trace => {
                "The gateway does not forward TRACE: its answer would show headers that the gateway adds."
            }
        }
    }

    /// The answer to a request, which may be a gRPC call.
    pub(super) fn answer(self, call: Option<GrpcCall>) -> Response<ProxyBody> {
        answer(self.status(), self.error(), self.detail(), call)
    }
}

/// A gRPC status for a gRPC call, or else a problem document as RFC 9457 has it.
pub(super) fn answer(
    status: StatusCode,
    error: &str,
    detail: &str,
    call: Option<GrpcCall>,
) -> Response<ProxyBody> {
    if let Some(call) = call {
        let refusal = GrpcRefusal { status, error, detail, retry_after_ms: 0, decision_id: None };
        return call.refused(&refusal).map(|()| ProxyBody::whole(""));
    }
    let title = status.canonical_reason().unwrap_or("Error");
    let document = document::undecided(error, title, status.as_u16(), detail);
    let mut answer = Response::new(ProxyBody::whole(document));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(document::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(http::header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
        headers.insert(http::header::ALLOW, HeaderValue::from_static(allowed));
    }
    answer
}
