//! A caller without a key: its session, or what its headers and its address say together.

use std::fmt;
use std::net::IpAddr;

use arrayvec::ArrayVec;
use http::{HeaderMap, HeaderValue};
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::Identity;
use sluicegate_core::time::Timestamp;
use sluicegate_store::hash::HomeHasher;

use super::cookie::SessionKeys;
use super::prefix::{blended, own, prefix_of};

/// A caller without a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client {
    /// Where its meters are.
    pub home: HomeId,
    /// What stands for its address, if that is known.
    pub address: Option<u64>,
    /// What stands for its headers, wherever it calls from.
    pub fingerprint: u64,
    /// What it is known by.
    pub kind: ClientKind,
}

/// What a client is known by: the first of these that it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientKind {
    /// The cookie of a session, wherever it calls from.
    Session,
    /// Its headers together with its address.
    Fingerprint,
    /// Its address alone.
    Address,
}

impl Client {
    /// What people call it.
    pub fn id(&self) -> ClientId {
        ClientId(self.home)
    }
}

/// What people call a client: `cl_` and 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClientId(pub HomeId);

impl ClientId {
    const PREFIX: &'static str = "cl_";

    /// Reads what [`fmt::Display`] writes, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = digits.len() == 32 && digits.bytes().all(is_digit);
        fits.then(|| u128::from_str_radix(digits, 16).ok()).flatten().map(|home| Self(HomeId(home)))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:032x}", Self::PREFIX, self.0.0)
    }
}

/// Who a caller without a key is.
pub(crate) fn client_of(
    homes: &HomeHasher,
    sessions: &SessionKeys,
    identity: &Identity,
    address: Option<IpAddr>,
    headers: &HeaderMap,
    now: Timestamp,
) -> Client {
    let (hash, known) = fingerprint(homes, identity, headers);
    let (home, kind) = match sessions.session(headers, identity.session_cookie.name(), now) {
        Some(session) => (homes.of_parts(&[b"session", &session.bytes()]), ClientKind::Session),
        None => {
            let prefix = address.map(|address| blended(address, identity.address)).unwrap_or_default();
            match known {
                Known::Something => {
                    let parts: [&[u8]; 3] = [b"client", &prefix, &hash.0.to_le_bytes()];
                    (homes.of_parts(&parts), ClientKind::Fingerprint)
                }
                Known::Nothing => (homes.of_parts(&[b"client", &prefix]), ClientKind::Address),
            }
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "half of a keyed hash tells fingerprints apart well enough"
    )]
    let fingerprint = hash.0 as u64;
    let address = address.map(|address| own(homes, &prefix_of(address)));
    Client { home, address, fingerprint, kind }
}

/// Whether any of the headers is there that tell callers apart.
enum Known {
    Something,
    Nothing,
}

/// What stands for the headers that tell callers apart.
fn fingerprint(homes: &HomeHasher, identity: &Identity, headers: &HeaderMap) -> (HomeId, Known) {
    let mut parts: ArrayVec<&[u8], { Identity::FINGERPRINT_MAX + 1 }> = ArrayVec::new();
    parts.push(b"fingerprint");
    let mut known = Known::Nothing;
    for name in identity.fingerprint.iter().take(Identity::FINGERPRINT_MAX) {
        let value = headers.get(name.as_str()).map_or(&b""[..], HeaderValue::as_bytes);
        if !value.is_empty() {
            known = Known::Something;
        }
        parts.push(value);
    }
    (homes.of_parts(&parts), known)
}

#[cfg(test)]
mod tests;
