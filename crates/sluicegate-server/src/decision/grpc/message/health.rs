//! `grpc.health.v1`.

use prost::Message;

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct HealthCheckRequest {
    /// Nothing: the server as a whole.
    #[prost(string, tag = "1")]
    pub(in super::super) service: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in super::super) struct HealthCheckResponse {
    #[prost(enumeration = "ServingStatus", tag = "1")]
    pub(in super::super) status: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(in super::super) enum ServingStatus {
    Unknown = 0,
    Serving = 1,
    NotServing = 2,
    ServiceUnknown = 3,
}
