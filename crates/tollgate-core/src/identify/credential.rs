//! Keys and tokens, as headers carry them.

use std::fmt;

use http::{HeaderMap, HeaderValue};

use crate::policy::{Identity, KeyPlace};

const BEARER: &str = "bearer ";

/// What a caller presents.
#[derive(Clone, Copy)]
pub enum Credential<'r> {
    /// A key, as it was sent.
    Key(&'r str),
    /// A service token, as it was sent.
    ServiceToken(&'r str),
    /// An account that whoever asks vouches for.
    Account {
        /// Its id.
        id: &'r str,
        /// Whose limits hold for this name where the directory does not know it.
        tier: Option<&'r str>,
    },
    /// Nothing; what else is known of it.
    Nothing {
        /// What tells callers behind one address apart.
        headers: &'r HeaderMap,
    },
    /// The same under the limits of a tier that whoever asks has chosen.
    Tier {
        /// The tier.
        tier: &'r str,
        /// What tells callers behind one address apart.
        headers: &'r HeaderMap,
    },
    /// Two keys that differ.
    Ambiguous,
}

/// Without the secret, which may not get into a log.
impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key",
            Self::ServiceToken(_) => "ServiceToken",
            Self::Account { .. } => "Account",
            Self::Nothing { .. } => "Nothing",
            Self::Tier { .. } => "Tier",
            Self::Ambiguous => "Ambiguous",
        })
    }
}

/// What the headers of a request present.
pub fn credential<'h>(identity: &Identity, headers: &'h HeaderMap) -> Credential<'h> {
    let mut found: Option<Credential<'h>> = None;
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
                Some(Credential::Key(other)) if other != text => return Credential::Ambiguous,
                _ => found = Some(Credential::Key(text)),
            }
        }
    }
    for value in headers.get_all(identity.service_token.as_str()) {
        let text = text_of(value);
        match found {
            _ if text.is_empty() => {}
            Some(Credential::ServiceToken(other)) if other == text => {}
            Some(_) => return Credential::Ambiguous,
            None => found = Some(Credential::ServiceToken(text)),
        }
    }
    found.unwrap_or(Credential::Nothing { headers })
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

    fn presented(lines: &[(&'static str, &'static str)]) -> String {
        match credential(&Identity::default(), &headers(lines)) {
            Credential::Key(key) => format!("key {key}"),
            Credential::ServiceToken(token) => format!("token {token}"),
            Credential::Nothing { .. } => "nothing".to_owned(),
            Credential::Account { .. } | Credential::Tier { .. } => "vouched for".to_owned(),
            Credential::Ambiguous => "ambiguous".to_owned(),
        }
    }

    #[test]
    fn keys_stand_where_the_policy_says() {
        assert_eq!(presented(&[("authorization", "Bearer abc")]), "key abc");
        assert_eq!(presented(&[("authorization", "bearer  abc ")]), "key abc");
        assert_eq!(presented(&[("x-api-key", "abc")]), "key abc");
        assert_eq!(presented(&[("x-service-token", "abc")]), "token abc");
        assert_eq!(presented(&[("authorization", "Basic abc")]), "nothing");
        assert_eq!(presented(&[("x-api-key", "")]), "nothing");
        assert_eq!(presented(&[]), "nothing");
    }

    #[test]
    fn two_keys_that_differ_are_ambiguous_wherever_they_stand() {
        assert_eq!(presented(&[("authorization", "Bearer a"), ("x-api-key", "a")]), "key a");
        assert_eq!(presented(&[("authorization", "Bearer a"), ("x-api-key", "b")]), "ambiguous");
        assert_eq!(presented(&[("x-api-key", "a"), ("x-api-key", "b")]), "ambiguous");
        assert_eq!(presented(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]), "ambiguous");
        assert_eq!(presented(&[("x-api-key", "a"), ("x-service-token", "a")]), "ambiguous");
        assert_eq!(presented(&[("x-service-token", "a"), ("x-service-token", "b")]), "ambiguous");
    }
}
