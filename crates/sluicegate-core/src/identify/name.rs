//! The caller's own name for a request, as the header `Idempotency-Key` carries it.
//!
//! By draft-ietf-httpapi-idempotency-key-header it is a string in quotes; most callers send it bare. Both are the same
//! name. Two that differ are none that can be believed.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};

const HEADER: &str = "idempotency-key";

/// The caller's own name for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name<'r> {
    /// It has one.
    Given {
        /// The name. See [`Name::is_well_formed`].
        text: &'r str,
        /// The query of the request, which is part of what the name stands for.
        query: Option<&'r str>,
    },
    /// There is something in its place that is none.
    Malformed,
}

impl Name<'_> {
    /// The longest name.
    pub const LENGTH_MAX: usize = 255;

    /// Whether a text can be a name: printable ASCII, and not too long.
    pub fn is_well_formed(text: &str) -> bool {
        (1..=Self::LENGTH_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
    }
}

/// What the headers of a request call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameHeader<'h> {
    /// Nothing.
    Absent,
    /// This.
    Given(Cow<'h, str>),
    /// Something that is no name, or two that differ.
    Malformed,
}

impl<'h> NameHeader<'h> {
    /// The name of a request with this method. One that only reads has none: it gets what is new each time, so a name
    /// would make asking again and again free; and nothing needs to be kept from happening twice.
    pub fn of(method: &str, headers: &'h HeaderMap) -> Self {
        let mut found = Self::Absent;
        if matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE") {
            return found;
        }
        for value in headers.get_all(HEADER) {
            let Some(name) = read(value) else { return Self::Malformed };
            match &found {
                Self::Given(other) if *other != name => return Self::Malformed,
                _ => found = Self::Given(name),
            }
        }
        found
    }

    /// As the engine is told, with the query, which is part of the request.
    pub fn name<'n>(&'n self, query: Option<&'n str>) -> Option<Name<'n>> {
        match self {
            Self::Absent => None,
            Self::Given(text) => Some(Name::Given { text, query }),
            Self::Malformed => Some(Name::Malformed),
        }
    }
}

fn read(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = value.to_str().ok()?.trim();
    let name = match text.strip_prefix('"') {
        Some(quoted) => unquoted(quoted)?,
        None => Cow::Borrowed(text),
    };
    Name::is_well_formed(&name).then_some(name)
}

/// What stands between the quotes of a structured-field string, the first of which is gone. Parameters behind it say
/// nothing to us.
fn unquoted(text: &str) -> Option<Cow<'_, str>> {
    let mut escaped = false;
    let (end, _) = text.bytes().enumerate().find(|(_, byte)| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    let behind = text[end + 1..].trim_start();
    if !(behind.is_empty() || behind.starts_with(';')) {
        return None;
    }
    let inner = &text[..end];
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let (mut name, mut characters) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(character) = characters.next() {
        name.push(match character {
            '\\' => characters.next().filter(|next| matches!(next, '"' | '\\'))?,
            other => other,
        });
    }
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(method: &str, values: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        match NameHeader::of(method, &headers) {
            NameHeader::Absent => "-".to_owned(),
            NameHeader::Given(name) => format!("<{name}>"),
            NameHeader::Malformed => "malformed".to_owned(),
        }
    }

    #[test]
    fn a_name_is_the_same_with_quotes_and_without() {
        for value in ["8e03978e-40d5", "\"8e03978e-40d5\"", " \"8e03978e-40d5\" ; a=1", "\t8e03978e-40d5 "] {
            assert_eq!(named("POST", &[value.as_bytes()]), "<8e03978e-40d5>", "{value}");
        }
        assert_eq!(named("POST", &[b"\"a\\\"b\\\\c\""]), "<a\"b\\c>");
        assert_eq!(named("POST", &[b"order 7"]), "<order 7>");
        assert_eq!(named("POST", &[]), "-");
    }

    #[test]
    fn what_is_no_name_is_malformed() {
        let long = [b'a'; 256];
        let cases: [&[u8]; 10] = [
            b"",
            b"  ",
            b"\"\"",
            b"\"a",
            b"\"a\" b",
            b"\"a\", \"b\"",
            b"\"a\\b\"",
            b"\"a\\\"",
            b"\xe9",
            &long,
        ];
        for value in cases {
            assert_eq!(named("POST", &[value]), "malformed", "{value:?}");
        }
        assert_eq!(named("POST", &[&long[..255]]), format!("<{}>", "a".repeat(255)));
    }

    #[test]
    fn two_names_that_differ_are_none() {
        assert_eq!(named("POST", &[b"a", b"\"a\""]), "<a>");
        assert_eq!(named("POST", &[b"a", b"b"]), "malformed");
        assert_eq!(named("POST", &[b"a", b""]), "malformed");
    }

    #[test]
    fn what_only_reads_has_no_name() {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
            assert_eq!(named(method, &[b"a"]), "-", "{method}");
            assert_eq!(named(method, &[b"\""]), "-", "{method}");
        }
        for method in ["POST", "PUT", "PATCH", "DELETE", "PURGE"] {
            assert_eq!(named(method, &[b"a"]), "<a>", "{method}");
        }
    }
}
