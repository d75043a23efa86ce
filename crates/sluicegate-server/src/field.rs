//! What the values of a request may be, wherever they stand: in a body, in headers, or behind a command.

use std::borrow::Cow;

use sluicegate_core::file::duration_secs;
use sluicegate_core::time::Nanos;
use sluicegate_engine::{Hold, Name};

use crate::shape::{self, Malformed};

/// The longest method.
const METHOD_LENGTH_MAX: usize = 32;

/// The longest path.
const PATH_LENGTH_MAX: usize = 8 * 1024;

/// A method in capitals, or what is expected.
pub(crate) fn method(text: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    let is_token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    if text.is_empty() || text.len() > METHOD_LENGTH_MAX || !text.bytes().all(is_token) {
        return Err("an HTTP method such as GET, of at most 32 characters");
    }
    // Routes are written in capitals: `get` must not slip past the route of `GET`.
    Ok(if text.bytes().any(|c| c.is_ascii_lowercase()) { text.to_ascii_uppercase().into() } else { text })
}

/// A path without its query, or what is expected: by the gateway's own rules, so that both know the same routes.
pub(crate) fn path(text: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    let path = match text.find('?') {
        None => text,
        Some(end) => match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
            Cow::Owned(mut text) => {
                text.truncate(end);
                Cow::Owned(text)
            }
        },
    };
    if !path.starts_with('/') {
        return Err("a path that starts with \"/\"");
    }
    if path.len() > PATH_LENGTH_MAX {
        return Err("a path of at most 8192 bytes");
    }
    if path.bytes().any(|c| !c.is_ascii_graphic() || c == b'#') {
        return Err("a path of visible ASCII characters, others percent-encoded, without \"#\"");
    }
    match shape::check_path(path.as_bytes()) {
        Ok(()) => Ok(path),
        Err(Malformed::PathDots) => Err("a path without \".\" and \"..\" segments, encoded or not"),
        Err(Malformed::PathEmptySegment) => Err("a path without \"//\""),
        Err(Malformed::PathEncodedSlash) => {
            Err("a path without \"\\\" and without an encoded slash or backslash")
        }
        Err(Malformed::PathControl) => Err("a path without encoded control characters"),
        Err(Malformed::PathPercent) => Err("a path with two hexadecimal digits after every \"%\""),
        Err(_) => Err("a path that can be read in one way only"),
    }
}

/// The caller's own name for a request, or what is expected.
pub(crate) fn idempotency_key(text: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    if Name::is_well_formed(&text) { Ok(text) } else { Err("1 to 255 printable ASCII characters") }
}

/// For how long a permit is held, or what is expected.
pub(crate) fn hold_for(text: &str) -> Result<Nanos, &'static str> {
    let span = duration_secs(text).and_then(|secs| u32::try_from(secs).ok()).map(Nanos::from_secs);
    let span = span.filter(|span| (Hold::MIN..=Hold::MAX).contains(span));
    span.ok_or("a duration from 1s to 24h, such as 90s or 10m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_in_capitals() {
        assert_eq!(method("get".into()).unwrap(), "GET");
        assert_eq!(method("M-SEARCH".into()).unwrap(), "M-SEARCH");
        for text in ["", "GET ", "GE\u{301}T", "G\nT", &"A".repeat(33)] {
            assert!(method(text.into()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn paths_lose_their_query_and_nothing_else() {
        for (text, meant) in [
            ("/", "/"),
            ("/a/b/", "/a/b/"),
            ("/a?b=/../c", "/a"),
            ("/?", "/"),
            ("/%20a", "/%20a"),
            ("/a.b/...", "/a.b/..."),
        ] {
            assert_eq!(path(text.into()).unwrap(), meant);
            assert_eq!(path(text.to_owned().into()).unwrap(), meant);
        }
    }

    #[test]
    fn paths_that_can_be_read_in_two_ways_are_refused() {
        for text in [
            "",
            "a",
            "?",
            "http://a/b",
            "//",
            "//a",
            "/a//b",
            "/a//",
            "/.",
            "/..",
            "/a/./b",
            "/a/../b",
            "/a/..",
            "/a/%2e%2e/b",
            "/%2E",
            "/a%2fb",
            "/a%2Fb",
            "/a%5cb",
            "/a%5Cb",
            "/a%00",
            "/%2",
            "/a\\b",
            "/a b",
            "/a\0",
            "/a\n",
            "/é",
            "/a#b",
            "/a\u{7f}",
        ] {
            assert!(path(text.into()).is_err(), "{text:?}");
        }
        assert!(path(format!("/{}", "a".repeat(PATH_LENGTH_MAX - 1)).into()).is_ok());
        assert!(path(format!("/{}", "a".repeat(PATH_LENGTH_MAX)).into()).is_err());
    }

    #[test]
    fn permits_are_held_for_a_second_to_a_day() {
        assert_eq!(hold_for("90s"), Ok(Nanos::from_secs(90)));
        assert_eq!(hold_for("24h"), Ok(Hold::MAX));
        for text in ["", "0s", "10", "-1s", "24h1s", "1y", "99999999999999h"] {
            assert!(hold_for(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn idempotency_keys_are_short_and_printable() {
        assert!(idempotency_key("order 17".into()).is_ok());
        assert!(idempotency_key("a".repeat(255).into()).is_ok());
        for text in ["", "a\n", "é", &"a".repeat(256)] {
            assert!(idempotency_key(text.into()).is_err(), "{text:?}");
        }
    }
}
