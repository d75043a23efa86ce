//! The keys of an identity provider: a JWK Set (RFC 7517), reduced to what verifies one of the three algorithms.

use std::fmt;

use serde_json::{Map, Value};

use crate::permit::base64url;

/// How a token is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The algorithm of this name. Every other one is refused: `none`, and those that verify with a secret.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key, which verifies tokens of one algorithm alone: a key never follows the header of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PublicKey {
    /// The modulus and the exponent.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// The point, uncompressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    pub(super) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }
}

/// A key with its name.
#[derive(Clone, PartialEq, Eq, Debug)]
struct NamedKey {
    id: Option<String>,
    key: PublicKey,
}

/// The keys of an identity provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySet(Vec<NamedKey>);

/// Why a text is no set of keys that could be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadKeySet {
    /// It is no JWK Set.
    Form,
    /// It has too many keys.
    TooMany,
}

impl fmt::Display for BadKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("it is no JWK Set"),
            Self::TooMany => write!(f, "it has more than {} keys", KeySet::KEYS_MAX),
        }
    }
}

impl std::error::Error for BadKeySet {}

impl KeySet {
    /// The most bytes of a set.
    pub const BYTES_MAX: usize = 256 * 1024;
    /// The most keys of a set.
    pub const KEYS_MAX: usize = 64;

    /// The set of this text. Keys for other purposes or algorithms are left out. A set without any is one too: that is
    /// how a provider withdraws the last of its keys.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadKeySet> {
        if bytes.len() > Self::BYTES_MAX {
            return Err(BadKeySet::Form);
        }
        let set: Value = serde_json::from_slice(bytes).map_err(|_| BadKeySet::Form)?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or(BadKeySet::Form)?;
        if keys.len() > Self::KEYS_MAX {
            return Err(BadKeySet::TooMany);
        }
        Ok(Self(keys.iter().filter_map(|key| named(key.as_object()?)).collect()))
    }

    /// Whether it has no key for RS256, ES256 or EdDSA.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that a token of this algorithm may be signed with: those of its name, or, where it names none, the only
    /// one of the algorithm.
    pub(super) fn candidates(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<&PublicKey> {
        let of_algorithm = self.0.iter().filter(|named| named.key.algorithm() == algorithm);
        match id {
            Some(id) => {
                of_algorithm.filter(|named| named.id.as_deref() == Some(id)).map(|named| &named.key).collect()
            }
            None => {
                let all: Vec<&PublicKey> = of_algorithm.map(|named| &named.key).collect();
                if all.len() == 1 { all } else { Vec::new() }
            }
        }
    }

    /// Whether a key has this name, whatever it verifies.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|named| named.id.as_deref() == Some(id))
    }
}

/// The key of an entry, if it verifies signatures of one of the algorithms.
fn named(entry: &Map<String, Value>) -> Option<NamedKey> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str);
    let bytes = |field: &str| text(field).and_then(|text| base64url::decode(text.as_bytes()));
    let is_for_signatures = entry.get("use").is_none_or(|purpose| purpose == "sig");
    let verifies = |ops: &Value| ops.as_array().is_some_and(|ops| ops.iter().any(|op| op == "verify"));
    if !is_for_signatures || !entry.get("key_ops").is_none_or(verifies) {
        return None;
    }
    let key = match (text("kty")?, text("crv")) {
        ("RSA", _) => PublicKey::Rsa { n: unpadded(bytes("n")?)?, e: unpadded(bytes("e")?)? },
        ("EC", Some("P-256")) => {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == 32 && y.len() == 32).then(|| PublicKey::P256([&[4], &x[..], &y[..]].concat()))?
        }
        ("OKP", Some("Ed25519")) => PublicKey::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
        _ => return None,
    };
    // A key that says what it is for is for nothing else.
    let is_meant = match entry.get("alg") {
        None => true,
        Some(name) => name.as_str().and_then(Algorithm::parse) == Some(key.algorithm()),
    };
    let is_large_enough = match &key {
        PublicKey::Rsa { n, .. } => (256..=1_024).contains(&n.len()),
        _ => true,
    };
    (is_meant && is_large_enough).then(|| NamedKey { id: text("kid").map(str::to_owned), key })
}

/// A number without zeros before it.
fn unpadded(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    (!bytes.is_empty()).then_some(bytes)
}
