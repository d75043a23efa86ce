//! `envoy.service.ratelimit.v3`: what the rate limit service is asked, and what it answers.

use std::fmt;

use bytes::Bytes;
use prost::Message;

use super::header::HeaderValue;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct RateLimitRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in super::super) domain: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub(in super::super) descriptors: Vec<RateLimitDescriptor>,
    #[prost(uint32, tag = "3")]
    pub(in super::super) hits_addend: u32,
}

/// What one limit goes by.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct RateLimitDescriptor {
    #[prost(message, repeated, tag = "1")]
    pub(in super::super) entries: Vec<Entry>,
    #[prost(message, optional, tag = "2")]
    pub(in super::super) limit: Option<RateLimitOverride>,
    #[prost(message, optional, tag = "3")]
    pub(in super::super) hits_addend: Option<u64>,
    #[prost(bool, tag = "4")]
    pub(in super::super) is_negative_hits: bool,
}

/// A part of a descriptor.
#[derive(Clone, PartialEq, Eq, Message)]
#[prost(skip_debug)]
pub(in super::super) struct Entry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in super::super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(in super::super) value: Bytes,
}

/// Without the value, which may be a key or an address.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A limit that whoever asks brings along.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in super::super) struct RateLimitOverride {
    #[prost(uint32, tag = "1")]
    pub(in super::super) requests_per_unit: u32,
    #[prost(enumeration = "Unit", tag = "2")]
    pub(in super::super) unit: i32,
}

/// How long a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(in super::super) enum Unit {
    Unknown = 0,
    Second = 1,
    Minute = 2,
    Hour = 3,
    Day = 4,
    Month = 5,
    Year = 6,
    Week = 7,
}

/// What is answered.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct RateLimitResponse {
    #[prost(enumeration = "Code", tag = "1")]
    pub(in super::super) overall_code: i32,
    /// As many as there were descriptors, in their order.
    #[prost(message, repeated, tag = "2")]
    pub(in super::super) statuses: Vec<DescriptorStatus>,
    #[prost(message, repeated, tag = "3")]
    pub(in super::super) response_headers_to_add: Vec<HeaderValue>,
    #[prost(bytes = "bytes", tag = "5")]
    pub(in super::super) raw_body: Bytes,
}

/// Whether it may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(in super::super) enum Code {
    Unknown = 0,
    Ok = 1,
    OverLimit = 2,
}

/// What became of one descriptor.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct DescriptorStatus {
    #[prost(enumeration = "Code", tag = "1")]
    pub(in super::super) code: i32,
    #[prost(message, optional, tag = "2")]
    pub(in super::super) current_limit: Option<RateLimit>,
    #[prost(uint32, tag = "3")]
    pub(in super::super) limit_remaining: u32,
    #[prost(message, optional, tag = "4")]
    pub(in super::super) duration_until_reset: Option<Duration>,
}

/// The limit that decided.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct RateLimit {
    #[prost(uint32, tag = "1")]
    pub(in super::super) requests_per_unit: u32,
    #[prost(enumeration = "Unit", tag = "2")]
    pub(in super::super) unit: i32,
    #[prost(string, tag = "3")]
    pub(in super::super) name: String,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(in super::super) struct Duration {
    #[prost(int64, tag = "1")]
    pub(in super::super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(in super::super) nanos: i32,
}
