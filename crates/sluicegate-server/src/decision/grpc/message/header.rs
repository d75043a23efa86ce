//! `envoy.config.core.v3`: headers.

use std::fmt;

use bytes::Bytes;
use prost::Message;

use super::super::super::outcome::Line;

/// A header.
#[derive(Clone, PartialEq, Eq, Message)]
#[prost(skip_debug)]
pub(in super::super) struct HeaderValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(in super::super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(in super::super) value: Bytes,
    /// The same, where it may be no text.
    #[prost(bytes = "bytes", tag = "3")]
    pub(in super::super) raw_value: Bytes,
}

/// Without the value, which may be a key.
impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderValue").field("key", &self.key).finish_non_exhaustive()
    }
}

impl From<Line> for HeaderValue {
    fn from((name, value): Line) -> Self {
        Self { key: Bytes::from_static(name.as_str().as_bytes()), value, raw_value: Bytes::new() }
    }
}

/// Headers.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct HeaderMap {
    #[prost(message, repeated, tag = "1")]
    pub(in super::super) headers: Vec<HeaderValue>,
}

/// A header, and what becomes of one of the same name.
#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct HeaderValueOption {
    #[prost(message, optional, tag = "1")]
    pub(in super::super) header: Option<HeaderValue>,
    #[prost(enumeration = "AppendAction", tag = "3")]
    pub(in super::super) append_action: i32,
}

/// What becomes of a header of the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(in super::super) enum AppendAction {
    AppendIfExistsOrAdd = 0,
    OverwriteIfExistsOrAdd = 2,
}

/// In the place of any other of its name: what is said of a decision is said once.
impl From<Line> for HeaderValueOption {
    fn from(line: Line) -> Self {
        Self { header: Some(line.into()), append_action: AppendAction::OverwriteIfExistsOrAdd.into() }
    }
}
