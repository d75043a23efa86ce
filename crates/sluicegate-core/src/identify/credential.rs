//! Keys and tokens, as headers carry them.

use std::fmt;

use http::{HeaderMap, HeaderValue};

use crate::policy::{Identity, KeyPlace};

const BEARER: &str = "bearer ";

/// What the headers of a request present.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presented<'h> {
    /// A key, as it was sent.
    Key(&'h str),
    /// A service token, as it was sent.
    ServiceToken(&'h str),
    /// Nothing.
    Nothing,
    /// Two keys that differ.
    Ambiguous,
}

/// Without the secret, which may not get into a log.
impl fmt::Debug for Presented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key",
            Self::ServiceToken(_) => "ServiceToken",
            Self::Nothing => "Nothing",
            Self::Ambiguous => "Ambiguous",
        })
    }
}

/// What the headers of a request present.
pub fn presented<'h>(identity: &Identity, headers: &'h HeaderMap) -> Presented<'h> {
    let mut found: Option<Presented<'h>> = None;
    for place in &identity.api_key {
        let values = match place {
            KeyPlace::Bearer => headers.get_all(http::header::AUTHORIZATION),
            KeyPlace::Header(name) => headers.get_all(name.as_str()),
        };
        for value in values {
            let text = match place {
                KeyPlace::Bearer => bearer(value),
                KeyPlace::Header(_) => Some(text_of(value)),
            };
            let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
            match found {
                Some(Presented::Key(other)) if other != text => return Presented::Ambiguous,
                _ => found = Some(Presented::Key(text)),
            }
        }
    }
    for value in headers.get_all(identity.service_token.as_str()) {
        let text = text_of(value);
        match found {
            _ if text.is_empty() => {}
            Some(Presented::ServiceToken(other)) if other == text => {}
            Some(_) => return Presented::Ambiguous,
            None => found = Some(Presented::ServiceToken(text)),
        }
    }
    found.unwrap_or(Presented::Nothing)
}

/// The text of a header; what is no text can be no key, and is read as one that nobody has.
fn text_of(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or("?").trim()
}

/// The token of `Authorization: Bearer <token>`. Other schemes are not ours.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?.trim();
    let (scheme, token) = text.split_at_checked(BEARER.len())?;
    scheme.eq_ignore_ascii_case(BEARER).then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect::<Vec<_>>()
            .into_iter()
            .fold(HeaderMap::new(), |mut map, (name, value): (http::HeaderName, HeaderValue)| {
                map.append(name, value);
                map
            })
    }

    fn told(lines: &[(&'static str, &'static str)]) -> String {
        match presented(&Identity::default(), &headers(lines)) {
            Presented::Key(key) => format!("key {key}"),
            Presented::ServiceToken(token) => format!("token {token}"),
            Presented::Nothing => "nothing".to_owned(),
            Presented::Ambiguous => "ambiguous".to_owned(),
        }
    }

    #[test]
    fn keys_stand_where_the_policy_says() {
        assert_eq!(told(&[("authorization", "Bearer abc")]), "key abc");
        assert_eq!(told(&[("authorization", "bearer  abc ")]), "key abc");
        assert_eq!(told(&[("x-api-key", "abc")]), "key abc");
        assert_eq!(told(&[("x-service-token", "abc")]), "token abc");
        assert_eq!(told(&[("authorization", "Basic abc")]), "nothing");
        assert_eq!(told(&[("x-api-key", "")]), "nothing");
        assert_eq!(told(&[]), "nothing");
    }

    #[test]
    fn two_keys_that_differ_are_ambiguous_wherever_they_stand() {
        assert_eq!(told(&[("authorization", "Bearer a"), ("x-api-key", "a")]), "key a");
        assert_eq!(told(&[("authorization", "Bearer a"), ("x-api-key", "b")]), "ambiguous");
        assert_eq!(told(&[("x-api-key", "a"), ("x-api-key", "b")]), "ambiguous");
        assert_eq!(told(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]), "ambiguous");
        assert_eq!(told(&[("x-api-key", "a"), ("x-service-token", "a")]), "ambiguous");
        assert_eq!(told(&[("x-service-token", "a"), ("x-service-token", "b")]), "ambiguous");
    }
}
