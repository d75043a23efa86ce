//! Header lines of a decision: one buffer, and where each value lies in it.

use arrayvec::ArrayVec;
use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue};
use tollgate_core::headers::Field;

/// What a decision says about limits, ready to be put into an answer.
#[derive(Clone, Debug, Default)]
pub struct HeaderLines {
    text: Bytes,
    lines: ArrayVec<(Field, u16, u16), { Field::ALL.len() }>,
}

/// What a usual set of lines needs: two structured fields of some fifty bytes and a dozen numbers.
const TEXT_CAPACITY: usize = 256;

impl HeaderLines {
    /// The lines that `write` hands to the sink it is given.
    pub(crate) fn collect(write: impl FnOnce(&mut dyn FnMut(Field, &str))) -> Self {
        let mut text = BytesMut::with_capacity(TEXT_CAPACITY);
        let mut lines = ArrayVec::new();
        write(&mut |field, value| {
            let start = text.len();
            text.extend_from_slice(value.as_bytes());
            // Every field comes once, and sixteen limits with long names stay far below 64 KiB.
            if let (Ok(start), Ok(end)) = (u16::try_from(start), u16::try_from(text.len())) {
                let _ = lines.try_push((field, start, end));
            }
        });
        Self { text: text.freeze(), lines }
    }

    /// Adds a line.
    pub(crate) fn push(&mut self, field: Field, value: &str) {
        *self = Self::collect(|sink| {
            self.iter().for_each(|(field, value)| sink(field, value));
            sink(field, value);
        });
    }

    /// The lines as text.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        self.lines.iter().map(|(field, start, end)| {
            let value = self.text.get(usize::from(*start)..usize::from(*end)).unwrap_or_default();
            (*field, std::str::from_utf8(value).unwrap_or_default())
        })
    }

    /// The lines as a message takes them, without copying.
    pub fn to_http(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.lines.iter().filter_map(|(field, start, end)| {
            let value = self.text.slice(usize::from(*start)..usize::from(*end));
            Some((name_of(*field), HeaderValue::from_maybe_shared(value).ok()?))
        })
    }
}

/// The name as HTTP libraries have it.
fn name_of(field: Field) -> HeaderName {
    HTTP_NAMES[field as usize].clone()
}

const HTTP_NAMES: [HeaderName; Field::ALL.len()] = [
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
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_own_http_name() {
        for field in Field::ALL {
            assert!(name_of(field).as_str().eq_ignore_ascii_case(field.name()), "{}", field.name());
        }
    }

    #[test]
    fn lines_are_kept_in_order_and_apart() {
        let lines = HeaderLines::collect(|sink| {
            sink(Field::RateLimitLimit, "10");
            sink(Field::RetryAfter, "3");
        });
        let text: Vec<_> = lines.iter().collect();
        assert_eq!(text, [(Field::RateLimitLimit, "10"), (Field::RetryAfter, "3")]);
        let http: Vec<_> = lines.to_http().collect();
        assert_eq!(http[1].0, http::header::RETRY_AFTER);
        assert_eq!(http[1].1, "3");
    }
}
