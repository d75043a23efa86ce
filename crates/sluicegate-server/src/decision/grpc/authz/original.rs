//! The request that a proxy holds, as its attributes tell.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::decision::grpc::message::authz::HttpRequest;
use crate::decision::grpc::message::header;
use crate::decision::json::Wrong;
use crate::field;

/// The most headers of a request: ten times as many as proxies take by default.
const HEADERS_MAX: usize = 1_000;

/// The request that a proxy holds.
pub(super) struct Original<'a> {
    pub(super) method: Cow<'a, str>,
    pub(super) path: Cow<'a, str>,
    pub(super) query: Option<&'a str>,
    pub(super) headers: HeaderMap,
}

impl<'a> Original<'a> {
    pub(super) fn of(http: &'a HttpRequest) -> Result<Self, Wrong> {
        let (method, target) = (text(&http.method), text(&http.path));
        Ok(Self {
            method: field::method(method.into()).map_err(|expected| wrong("method", expected))?,
            path: field::path(target.into()).map_err(|expected| wrong("path", expected))?,
            query: target.split_once('?').map(|(_, query)| query),
            headers: headers(http)?,
        })
    }
}

/// What is no text passes no check.
fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or("\u{fffd}")
}

/// All headers, byte for byte where the proxy sends them so.
fn headers(http: &HttpRequest) -> Result<HeaderMap, Wrong> {
    let given = http.header_map.as_ref().map_or(&http.headers, |map| &map.headers);
    if given.len() > HEADERS_MAX {
        return Err(wrong("headers", "at most 1000"));
    }
    let mut headers = HeaderMap::with_capacity(given.len());
    for header::HeaderValue { key, value, raw_value } in given {
        // What HTTP/2 has before its headers is among them, and is no header.
        let Ok(name) = HeaderName::from_bytes(key) else { continue };
        let value = if raw_value.is_empty() { value } else { raw_value };
        if let Ok(value) = HeaderValue::from_maybe_shared(value.clone()) {
            headers.append(name, value);
        }
    }
    Ok(headers)
}

fn wrong(attribute: &str, expected: &str) -> Wrong {
    let detail = format!("The attribute \"{attribute}\" of the request must be {expected}.");
    Wrong { field: Some(attribute.to_owned()), detail }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::decision::grpc::message::header::HeaderMap as RawMap;

    fn line(key: &'static str, value: &'static [u8], raw: &'static [u8]) -> header::HeaderValue {
        header::HeaderValue {
            key: Bytes::from_static(key.as_bytes()),
            value: Bytes::from_static(value),
            raw_value: Bytes::from_static(raw),
        }
    }

    fn http(path: &'static [u8], headers: Vec<header::HeaderValue>) -> HttpRequest {
        let (method, path) = (Bytes::from_static(b"get"), Bytes::from_static(path));
        HttpRequest { method, path, headers, header_map: None }
    }

    #[test]
    fn the_query_is_no_part_of_the_path() {
        let request = http(b"/a?b=/../c", Vec::new());
        let original = Original::of(&request).unwrap();
        assert_eq!((&*original.method, &*original.path, original.query), ("GET", "/a", Some("b=/../c")));
        for path in [&b"/a/../b"[..], b"a", b"", b"/\xff", b"/a//b"] {
            assert!(Original::of(&http(path, Vec::new())).is_err(), "{path:?}");
        }
    }

    #[test]
    fn headers_are_taken_byte_for_byte_where_they_are_sent_so() {
        let lines = vec![line(":path", b"/b", b""), line("x-a", b"1", b""), line("x-a", b"", b"\xff")];
        let mut request = http(b"/", lines.clone());
        let read = |request: &HttpRequest| {
            let original = Original::of(request).unwrap();
            original.headers.get_all("x-a").iter().map(|value| value.as_bytes().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(read(&request), [b"1".to_vec(), b"\xff".to_vec()]);
        request.header_map = Some(RawMap { headers: lines[2..].to_vec() });
        assert_eq!(read(&request), [b"\xff".to_vec()]);
    }

    #[test]
    fn nobody_brings_more_headers_than_there_is_room_for() {
        let many = |count| http(b"/", vec![line("x-a", b"1", b""); count]);
        assert!(Original::of(&many(HEADERS_MAX)).is_ok());
        assert!(Original::of(&many(HEADERS_MAX + 1)).is_err());
    }
}
