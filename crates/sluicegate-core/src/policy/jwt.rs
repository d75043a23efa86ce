//! Signed tokens of an identity provider as the credentials of callers.

use std::path::PathBuf;

use super::url::HttpUrl;
use crate::time::Nanos;

/// How the tokens of an identity provider are read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jwt {
    /// Where the keys of the provider are found.
    pub jwks: JwksSource,
    /// What `iss` has to be.
    pub issuer: String,
    /// What `aud` has to be, or hold one of.
    pub audience: Vec<String>,
    /// The claim that names the account.
    pub account: String,
    /// The claim that names the tier of an account that the directory does not know; nothing: those are refused.
    pub tier: Option<String>,
    /// The claim that lists scopes: a text with blanks between them, or a list; nothing: tokens have none.
    pub scopes: Option<String>,
    /// By how much the clocks of the provider and of this node may differ.
    pub leeway: Nanos,
    /// For how long the last keys are used while they cannot be fetched.
    pub stale_max: Nanos,
}

impl Jwt {
    /// A minute: clocks that are set by NTP differ by much less.
    pub const LEEWAY_DEFAULT: Nanos = Nanos::from_secs(60);
    /// More would let tokens live on that their provider has ended.
    pub const LEEWAY_SECS_MAX: u32 = 300;
    /// A day: an outage of the provider lasts hours, and a key that leaked is withdrawn within days.
    pub const STALE_MAX_DEFAULT: Nanos = Nanos::from_secs(86_400);
    /// The longest.
    pub const STALE_SECS_MAX: u32 = 7 * 86_400;
    /// The most audiences.
    pub const AUDIENCES_MAX: usize = 16;
    /// The longest name of a claim, and the longest issuer or audience, in bytes.
    pub const TEXT_MAX: usize = 256;
}

/// Where the keys of an identity provider are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JwksSource {
    /// In this file.
    File(PathBuf),
    /// At this address.
    Url(HttpUrl),
}
