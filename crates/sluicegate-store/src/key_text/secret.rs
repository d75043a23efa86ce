//! Secrets: a text that prints stars, and the keyed hash that is kept in its stead.

use std::fmt;

use super::PresentedKey;

/// A secret, to be shown once. It prints as stars, and its memory is overwritten when it is dropped.
pub struct SecretText(String);

impl SecretText {
    pub(super) const fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(***)")
    }
}

impl Drop for SecretText {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Otherwise the compiler may leave out a write that nobody reads.
        std::hint::black_box(&bytes);
    }
}

/// The keyed hash of a key's text. Comparing two takes the same time whatever they hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(blake3::Hash);

impl KeyHash {
    pub(crate) const LENGTH: usize = blake3::OUT_LEN;

    pub(crate) const fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        self.0.as_bytes()
    }
}

/// Without the hash: who has it and the server's secret can try keys at leisure.
impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(***)")
    }
}

/// Hashes the texts of keys, under a secret of the server.
#[derive(Clone)]
pub struct KeyHasher([u8; blake3::KEY_LEN]);

impl KeyHasher {
    /// A hasher with this secret. Another secret makes every key of the directory invalid.
    pub fn new(server_secret: &[u8; 32]) -> Self {
        Self(blake3::derive_key("sluicegate 2026-11 texts of api keys", server_secret))
    }

    /// What tells one secret from another, and nothing else about it.
    pub(crate) fn fingerprint(&self) -> String {
        let hash = blake3::derive_key("sluicegate 2026-11 fingerprint of the secret of keys", &self.0);
        blake3::Hash::from_bytes(hash).to_hex()[..32].to_owned()
    }

    /// The hash of what was presented.
    pub fn hash(&self, presented: &PresentedKey<'_>) -> KeyHash {
        self.hash_text(presented.expose())
    }

    pub(crate) fn hash_secret(&self, secret: &SecretText) -> KeyHash {
        self.hash_text(secret.expose())
    }

    fn hash_text(&self, text: &str) -> KeyHash {
        KeyHash(blake3::keyed_hash(&self.0, text.as_bytes()))
    }
}

/// Without the secret.
impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher(***)")
    }
}
