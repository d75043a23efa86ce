//! The text of a token (RFC 7515, compact): its header, its claims, and the signature over both.

use serde_json::{Map, Value};

use super::key_set::{Algorithm, KeySet};
use super::signature;
use crate::permit::base64url;

/// What a token is called that is meant for an API. Those that end sessions or prove keys are not.
const TYPES: [&str; 4] = ["JWT", "at+jwt", "application/jwt", "application/at+jwt"];
/// The longest name of a key, in bytes.
const KEY_ID_BYTES_MAX: usize = 256;

/// Why a token is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BadToken {
    /// It names a key that is not in the set. The set may be old.
    UnknownKey,
    /// For every other reason.
    Invalid,
}

/// A token whose signature nobody has looked at.
pub(super) struct UnverifiedToken<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    /// What is signed.
    signed: &'t str,
    claims: &'t str,
    signature: Vec<u8>,
}

impl<'t> UnverifiedToken<'t> {
    /// The most bytes of a token.
    pub(super) const BYTES_MAX: usize = 8 * 1024;

    pub(super) fn parse(text: &'t str) -> Result<Self, BadToken> {
        Self::read(text).ok_or(BadToken::Invalid)
    }

    fn read(text: &'t str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.').filter(|_| text.len() <= Self::BYTES_MAX)?;
        let (header, claims) = signed.split_once('.')?;
        if claims.contains('.') {
            return None;
        }
        let header = object(header)?;
        // What a header demands that is not known here must not be ignored.
        if header.contains_key("crit") {
            return None;
        }
        if let Some(kind) = header.get("typ") {
            let kind = kind.as_str()?;
            TYPES.iter().find(|known| known.eq_ignore_ascii_case(kind))?;
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(id) => Some(id.as_str().filter(|id| id.len() <= KEY_ID_BYTES_MAX)?.to_owned()),
        };
        Some(Self {
            algorithm: Algorithm::parse(header.get("alg")?.as_str()?)?,
            key_id,
            signed,
            claims,
            signature: base64url::decode(signature.as_bytes())?,
        })
    }

    /// The claims, if a key of the set has signed them. Keys that the token itself brings or links are never used.
    pub(super) fn verify(&self, keys: &KeySet) -> Result<Map<String, Value>, BadToken> {
        let candidates = keys.candidates(self.algorithm, self.key_id.as_deref());
        if candidates.is_empty() && self.key_id.as_deref().is_some_and(|id| !keys.has(id)) {
            return Err(BadToken::UnknownKey);
        }
        let message = self.signed.as_bytes();
        let is_signed = candidates.iter().any(|key| signature::verify(key, message, &self.signature));
        let claims = object(self.claims).filter(|_| is_signed);
        claims.ok_or(BadToken::Invalid)
    }
}

/// The JSON object behind this text.
fn object(text: &str) -> Option<Map<String, Value>> {
    let bytes = base64url::decode(text.as_bytes())?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}
