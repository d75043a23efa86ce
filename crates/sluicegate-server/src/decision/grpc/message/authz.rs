//! `envoy.service.auth.v3`: what external authorization is asked, and what it answers.

use bytes::Bytes;
use prost::Message;

use super::header::{HeaderMap, HeaderValue, HeaderValueOption};

/// What is asked.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) attributes: Option<AttributeContext>,
}

/// The request that the proxy holds, and where it came from.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) source: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    pub(in super::super) request: Option<Request>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Peer {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) address: Option<Address>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Address {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) socket_address: Option<SocketAddress>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct SocketAddress {
    #[prost(string, tag = "2")]
    pub(in super::super) address: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Request {
    #[prost(message, optional, tag = "2")]
    pub(in super::super) http: Option<HttpRequest>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct HttpRequest {
    #[prost(bytes = "bytes", tag = "2")]
    pub(in super::super) method: Bytes,
    /// A map by name, whose entries look like headers on the wire.
    #[prost(message, repeated, tag = "3")]
    pub(in super::super) headers: Vec<HeaderValue>,
    /// With its query.
    #[prost(bytes = "bytes", tag = "4")]
    pub(in super::super) path: Bytes,
    /// All headers in their order, byte for byte, where the proxy sends them so.
    #[prost(message, optional, tag = "13")]
    pub(in super::super) header_map: Option<HeaderMap>,
}

/// What is answered: one of the two responses.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) status: Option<RpcStatus>,
    #[prost(oneof = "HttpResponse", tags = "2, 3")]
    pub(in super::super) http_response: Option<HttpResponse>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(in super::super) enum HttpResponse {
    #[prost(message, tag = "2")]
    Denied(DeniedHttpResponse),
    #[prost(message, tag = "3")]
    Ok(OkHttpResponse),
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(in super::super) code: i32,
    #[prost(string, tag = "2")]
    pub(in super::super) message: String,
}

/// What the caller is answered.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct DeniedHttpResponse {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    pub(in super::super) headers: Vec<HeaderValueOption>,
    #[prost(string, tag = "3")]
    pub(in super::super) body: String,
}

/// `envoy.type.v3.HttpStatus`: its numbers are those of HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in super::super) struct HttpStatus {
    #[prost(int32, tag = "1")]
    pub(in super::super) code: i32,
}

/// What is done to a request that may pass, and to its answer.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct OkHttpResponse {
    #[prost(message, repeated, tag = "2")]
    pub(in super::super) headers: Vec<HeaderValueOption>,
    #[prost(string, repeated, tag = "5")]
    pub(in super::super) headers_to_remove: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub(in super::super) response_headers_to_add: Vec<HeaderValueOption>,
}
