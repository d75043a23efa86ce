//! Header lines of a decision: one buffer, and where each value lies in it.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use sluicegate_core::headers::{Field, Lines, Spans};

/// What a decision says about limits, ready to be put into an answer.
#[derive(Clone, Debug, Default)]
pub struct HeaderLines {
    text: Bytes,
    spans: Spans,
}

impl From<Lines> for HeaderLines {
    fn from(lines: Lines) -> Self {
        let (text, spans) = lines.into_parts();
        Self { text: text.into(), spans }
    }
}

impl HeaderLines {
    /// The lines as text.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        let text = std::str::from_utf8(&self.text).unwrap_or_default();
        let value = |start: u16, end: u16| text.get(start.into()..end.into()).unwrap_or_default();
        self.spans.iter().map(move |(field, start, end)| (*field, value(*start, *end)))
    }

    /// The lines as messages of any kind take them, without copying.
    pub fn shared(&self) -> impl Iterator<Item = (&'static HeaderName, Bytes)> {
        self.spans.iter().map(|(field, start, end)| {
            (name_of(*field), self.text.slice(usize::from(*start)..usize::from(*end)))
        })
    }

    /// The lines as a message of HTTP takes them, without copying.
    pub fn to_http(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.shared()
            .filter_map(|(name, value)| Some((name.clone(), HeaderValue::from_maybe_shared(value).ok()?)))
    }
}

/// The name of a field as HTTP libraries have it.
pub fn name_of(field: Field) -> &'static HeaderName {
    &HTTP_NAMES[field as usize]
}

// A static and no constant: that would be made and dropped whole with each use.
static HTTP_NAMES: [HeaderName; Field::ALL.len()] = [
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
    HeaderName::from_static("x-quota-limit"),
    HeaderName::from_static("x-quota-used"),
    HeaderName::from_static("x-quota-remaining"),
    HeaderName::from_static("x-quota-reset"),
    HeaderName::from_static("x-quota-overage"),
    http::header::RETRY_AFTER,
    HeaderName::from_static("x-sluicegate-mode"),
];

#[cfg(test)]
mod tests {
    use sluicegate_core::headers::Sink as _;

    use super::*;

    #[test]
    fn every_field_has_its_own_http_name() {
        for field in Field::ALL {
            assert!(name_of(field).as_str().eq_ignore_ascii_case(field.name()), "{}", field.name());
        }
    }

    #[test]
    fn lines_are_kept_in_order_and_apart() {
        let mut lines = Lines::default();
        lines.number(Field::RateLimitLimit, 10);
        lines.number(Field::RetryAfter, 3);
        let lines = HeaderLines::from(lines);
        let text: Vec<_> = lines.iter().collect();
        assert_eq!(text, [(Field::RateLimitLimit, "10"), (Field::RetryAfter, "3")]);
        let http: Vec<_> = lines.to_http().collect();
        assert_eq!(http[1].0, http::header::RETRY_AFTER);
        assert_eq!(http[1].1, "3");
    }
}
