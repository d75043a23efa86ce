//! How callers are told apart.

use std::fmt;
use std::path::PathBuf;

use super::jwt::Jwt;
use super::tier::TierName;
use super::url::HttpUrl;
use crate::rule::{Amount, Windowed};
use crate::time::{Nanos, Window};

/// How callers are told apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Where an API key may stand, in order; at least one place, none twice.
    pub api_key: Vec<KeyPlace>,
    /// The header of service tokens. Never one of the headers of API keys.
    pub service_token: HeaderName,
    /// The cookie of callers that passed a challenge.
    pub session_cookie: SessionCookie,
    /// The headers that tell callers behind one address apart; empty: the address alone.
    pub fingerprint: Vec<HeaderName>,
    /// How much of an address goes into the id of a caller without a session.
    pub address: AddressPrefix,
    /// The tier of callers without a key, never one with a bypass; nothing: they are answered with 401.
    pub anonymous: Option<TierName>,
    /// The challenge that earns a session cookie.
    pub challenge: Option<Challenge>,
    /// How signed tokens of an identity provider are read; nothing: they are not.
    pub jwt: Option<Jwt>,
}

impl Identity {
    /// Where most API clients put a key.
    pub const API_KEY_HEADER_DEFAULT: &'static str = "x-api-key";
    /// A header of its own, so that a leaked API key never becomes a bypass.
    pub const SERVICE_TOKEN_DEFAULT: &'static str = "x-service-token";
    /// What browsers send unasked and scripts rarely bother to imitate together.
    pub const FINGERPRINT_DEFAULT: [&'static str; 5] =
        ["user-agent", "accept-language", "accept-encoding", "sec-ch-ua", "sec-ch-ua-platform"];
    /// The most headers that may go into a fingerprint: each is hashed on every anonymous request.
    pub const FINGERPRINT_MAX: usize = 32;
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            api_key: vec![
                KeyPlace::Bearer,
                KeyPlace::Header(HeaderName(Self::API_KEY_HEADER_DEFAULT.to_owned())),
            ],
            service_token: HeaderName(Self::SERVICE_TOKEN_DEFAULT.to_owned()),
            session_cookie: SessionCookie::default(),
            fingerprint: Self::FINGERPRINT_DEFAULT.map(|name| HeaderName(name.to_owned())).to_vec(),
            address: AddressPrefix::default(),
            anonymous: None,
            challenge: None,
            jwt: None,
        }
    }
}

/// How many leading bits of an address go into the id of a caller without a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressPrefix {
    v4: u8,
    v6: u8,
}

impl AddressPrefix {
    /// The shortest prefix of IPv4: shorter ones would blend countries.
    pub const V4_MIN: u8 = 8;
    /// All of an IPv4 address.
    pub const V4_MAX: u8 = 32;
    /// The shortest prefix of IPv6: what a provider is given.
    pub const V6_MIN: u8 = 16;
    /// The longest prefix of IPv6: the bits behind it are the caller's to choose.
    pub const V6_MAX: u8 = 64;

    /// The prefixes, or nothing if one is out of range.
    pub const fn new(v4: u8, v6: u8) -> Option<Self> {
        let fits = v4 >= Self::V4_MIN && v4 <= Self::V4_MAX && v6 >= Self::V6_MIN && v6 <= Self::V6_MAX;
        if fits { Some(Self { v4, v6 }) } else { None }
    }

    /// The leading bits of an IPv4 address.
    pub const fn v4(self) -> u8 {
        self.v4
    }

    /// The leading bits of an IPv6 address.
    pub const fn v6(self) -> u8 {
        self.v6
    }
}

impl Default for AddressPrefix {
    fn default() -> Self {
        Self { v4: Self::V4_MAX, v6: Self::V6_MAX }
    }
}

/// Where an API key may stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyPlace {
    /// `Authorization: Bearer <key>`.
    Bearer,
    /// A header of its own.
    Header(HeaderName),
}

/// The name of a header, in lower case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HeaderName(String);

impl HeaderName {
    /// The longest name, in bytes.
    pub const LENGTH_MAX: usize = 128;

    /// The name, or nothing if it has a character that header names may not have.
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= Self::LENGTH_MAX && name.bytes().all(is_token_byte);
        fits.then(|| Self(name.to_ascii_lowercase()))
    }

    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What RFC 9110 calls a token character.
fn is_token_byte(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c)
}

/// The cookie of callers that passed a challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionCookie {
    name: String,
    /// How long it is valid.
    pub max_age: Nanos,
    /// How many are issued to one address (IPv6: one /64), in any window of this length.
    pub per_address: Windowed,
}

impl SessionCookie {
    /// The name when the file gives none.
    pub const NAME_DEFAULT: &'static str = "sg_session";
    /// A month: a returning visitor is rarely challenged again.
    pub const MAX_AGE_DEFAULT: Nanos = Nanos::from_secs(30 * 86_400);
    /// Browsers keep no cookie for longer than 400 days.
    pub const MAX_AGE_SECS_MAX: u32 = 400 * 86_400;
    /// A household passes the challenge a few times; sessions that are bought do not come by the thousand from one
    /// address.
    pub const PER_ADDRESS_DEFAULT: Windowed = Windowed {
        limit: match Amount::new(20) {
            Some(twenty) => twenty,
            None => Amount::ONE,
        },
        window: Window::HOUR,
    };
    /// The most sessions of one address in a window: each is an entry of an exact log.
    pub const PER_ADDRESS_MAX: u64 = 10_000;

    /// The cookie, or nothing if the name has a character that cookie names may not have.
    pub fn new(name: &str, max_age: Nanos) -> Option<Self> {
        let fits =
            !name.is_empty() && name.len() <= HeaderName::LENGTH_MAX && name.bytes().all(is_token_byte);
        let per_address = Self::PER_ADDRESS_DEFAULT;
        fits.then(|| Self { name: name.to_owned(), max_age, per_address })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Default for SessionCookie {
    fn default() -> Self {
        let (name, per_address) = (Self::NAME_DEFAULT.to_owned(), Self::PER_ADDRESS_DEFAULT);
        Self { name, max_age: Self::MAX_AGE_DEFAULT, per_address }
    }
}

/// A challenge that speaks the Turnstile siteverify protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Challenge {
    /// Where a caller's answer is verified.
    pub verify_url: HttpUrl,
    /// Where the secret is found.
    pub secret: SecretSource,
}

/// Where a secret is found. The secret itself never stands in a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecretSource {
    /// In the environment variable of this name.
    Variable(String),
    /// In this file.
    File(PathBuf),
}

impl SecretSource {
    /// Reads `env:NAME` or `file:/path`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix("env:") {
            let inner = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
            let starts_well = name.bytes().next().is_some_and(|c| !c.is_ascii_digit());
            return (starts_well && name.bytes().all(inner)).then(|| Self::Variable(name.to_owned()));
        }
        let path = text.strip_prefix("file:")?;
        path.starts_with('/').then(|| Self::File(path.into()))
    }
}
