//! The answer to a challenge, as a program sends it (JSON) or as a page does (a form).

use std::borrow::Cow;

use serde::de::MapAccess;

use crate::decision::json::{self, Object, Seen, Value, Wrong};

/// The longest answer that is passed on, in bytes. Those of today have at most 2,048.
const RESPONSE_BYTES_MAX: usize = 8_192;

/// What the answer is called in a form: as in JSON, or as the widget of Turnstile calls it.
const FORM_FIELDS: [&[u8]; 2] = [b"response", b"cf-turnstile-response"];

/// The answer to a challenge.
pub(super) fn response(body: &[u8]) -> Result<Cow<'_, str>, Wrong> {
    // `curl -d` says of JSON too that it is a form.
    let response = if body.trim_ascii_start().starts_with(b"{") {
        json::read::<Asked<'_>>(body)?.response
    } else {
        of_form(body)?
    };
    let wrong = |detail: &str| Wrong { field: Some("response".to_owned()), detail: detail.to_owned() };
    match response {
        None => Err(wrong("\"response\" is missing: the answer to the challenge is expected.")),
        Some(text) if text.is_empty() => Err(wrong("\"response\" is empty: the challenge was not answered.")),
        Some(text) if text.len() > RESPONSE_BYTES_MAX => {
            Err(wrong("\"response\" is longer than any answer to a challenge."))
        }
        Some(text) => Ok(text),
    }
}

/// The body as JSON.
#[derive(Debug, Default)]
struct Asked<'b> {
    seen: Seen,
    response: Option<Cow<'b, str>>,
}

const FIELDS: [&str; 1] = ["response"];

impl<'b> Object<'b> for Asked<'b> {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        self.seen.admit(&FIELDS, name, &mut value)?;
        self.response = value.text(Ok)?;
        Ok(())
    }

    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// The answer in a form. What else a page has in its form is its own affair.
fn of_form(body: &[u8]) -> Result<Option<Cow<'_, str>>, Wrong> {
    let mut found = None;
    for pair in body.trim_ascii_end().split(|byte| *byte == b'&') {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if !FORM_FIELDS.contains(&name) {
            continue;
        }
        let wrong = |detail: &str| Wrong {
            field: Some(String::from_utf8_lossy(name).into_owned()),
            detail: detail.to_owned(),
        };
        let text =
            decoded(value).ok_or_else(|| wrong("The answer to the challenge is not text in a form."))?;
        if found.replace(Cow::Owned(text)).is_some() {
            return Err(wrong("The answer to the challenge stands in the form twice."));
        }
    }
    Ok(found)
}

/// The value of a field of a form.
fn decoded(value: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        text.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, after) = rest.split_first_chunk::<2>()?;
                rest = after;
                hex(digits[0])? << 4 | hex(digits[1])?
            }
            other => *other,
        });
    }
    String::from_utf8(text).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_as_json_or_in_a_form() {
        for body in [
            r#"{"response":"a b+"}"#,
            " {\"response\": \"a b+\"}",
            "response=a+b%2B",
            "name=x&cf-turnstile-response=a%20b%2b&submit=",
            "cf-turnstile-response=a+b%2B\r\n",
        ] {
            assert_eq!(response(body.as_bytes()).unwrap(), "a b+", "{body}");
        }
        assert_eq!(response(b"response=a=b").unwrap(), "a=b");
    }

    #[test]
    fn what_is_no_answer_is_refused_by_name() {
        let long = format!("response={}", "x".repeat(RESPONSE_BYTES_MAX + 1));
        for body in [
            "",
            "{}",
            r#"{"response":""}"#,
            r#"{"response":7}"#,
            r#"{"response":null}"#,
            r#"{"response":"a","ip":"192.0.2.1"}"#,
            r#"{"response":"a""#,
            "response=",
            "responses=a",
            "response=%",
            "response=%4",
            "response=%zz",
            "response=%+1",
            "response=%ff",
            "response=a&response=b",
            "response=a&cf-turnstile-response=a",
            &long,
        ] {
            assert!(response(body.as_bytes()).is_err(), "{body}");
        }
        assert_eq!(response(b"x").unwrap_err().field.unwrap(), "response");
    }

    #[test]
    fn no_bytes_are_too_much() {
        for byte in 0..=u8::MAX {
            for start in [&b""[..], b"response=", b"response=%", b"response=%4", b"{"] {
                let _ = response(&[start, &[byte]].concat());
            }
        }
    }
}
