//! The cookie of a session: who holds it passed a challenge. It is signed, so that nothing need be kept about it.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use sluicegate_core::time::Timestamp;
use sluicegate_store::key_text::NoRandomness;

/// What the keys are made for. Changing it ends all sessions.
const SESSIONS: &str = "sluicegate 2026-11-16 session cookies";
/// What a cookie starts with. Another layout would start with another.
const VERSION: &str = "v1.";
/// The characters of a name of a session.
const ID_LENGTH: usize = 32;
/// The characters of a signature.
const MAC_LENGTH: usize = 64;
/// The most cookies of one request that are verified: nobody has that many by accident.
const VERIFIED_MAX: usize = 4;

/// The keys that sessions are signed with.
#[derive(Clone)]
pub struct SessionKeys {
    signing: [u8; 32],
    /// Those that signed before: what they signed is accepted.
    others: Vec<[u8; 32]>,
}

/// Without the keys.
impl std::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionKeys").finish_non_exhaustive()
    }
}

/// The name of a session, which nobody chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(u128);

/// Not the name: with it, a client could be followed.
impl std::fmt::Debug for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionId")
    }
}

impl SessionId {
    /// A name that nobody has.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    pub(super) fn bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl SessionKeys {
    /// Keys made from these secrets: the first one signs, what any of them signed is accepted.
    pub fn new(signing: &[u8], others: &[&[u8]]) -> Self {
        let key = |secret: &[u8]| blake3::derive_key(SESSIONS, secret);
        Self { signing: key(signing), others: others.iter().map(|secret| key(secret)).collect() }
    }

    /// The value of the cookie of a session that ends at `end`.
    pub fn sign(&self, session: SessionId, end: Timestamp) -> String {
        let mut text = format!("{VERSION}{:032x}.{}", session.0, end.as_secs());
        let mac = blake3::keyed_hash(&self.signing, text.as_bytes());
        text.push('.');
        text.push_str(&mac.to_hex());
        text
    }

    /// The session of a value, if it is signed and not over.
    pub fn verify(&self, value: &str, now: Timestamp) -> Option<SessionId> {
        let rest = value.strip_prefix(VERSION)?;
        let (id, rest) = rest.split_at_checked(ID_LENGTH)?;
        let (end, mac) = rest.strip_prefix('.')?.split_once('.')?;
        if mac.len() != MAC_LENGTH {
            return None;
        }
        let id = u128::from_str_radix(id, 16).ok()?;
        let end = end.parse().ok().map(Timestamp::from_secs)?;
        let mac = blake3::Hash::from_hex(mac).ok()?;
        let signed = &value.as_bytes()[..value.len() - MAC_LENGTH - 1];
        // Hashes are compared in the same time whatever they are.
        let is_ours = |key| blake3::keyed_hash(key, signed) == mac;
        (now < end && (is_ours(&self.signing) || self.others.iter().any(is_ours))).then_some(SessionId(id))
    }

    /// The session of a request, if it has a cookie of this name that is signed and not over. What is no such cookie
    /// is nobody's fault: browsers send cookies that are long over.
    pub(super) fn session(&self, headers: &HeaderMap, name: &str, now: Timestamp) -> Option<SessionId> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| HeaderValue::to_str(line).ok());
        let values = lines.flat_map(|line| line.split(';')).filter_map(|pair| value_of(pair.trim(), name));
        values
            .filter(|value| value.starts_with(VERSION))
            .take(VERIFIED_MAX)
            .find_map(|value| self.verify(value, now))
    }
}

/// The value of a cookie of this name. One without a name is what whoever asks for others may have given.
fn value_of<'c>(pair: &'c str, name: &str) -> Option<&'c str> {
    match pair.split_once('=') {
        None => Some(pair),
        Some((of, value)) => (of == name).then_some(value),
    }
}

#[cfg(test)]
mod tests;
