//! Secrets: a text that prints stars, and the keyed hash that is kept in its stead.

use std::fmt;

use super::PresentedKey;

/// A secret, to be shown once. It prints as stars, and its memory is overwritten when it is dropped.
pub struct SecretText(String);

impl SecretText {
    pub(crate) const fn new(text: String) -> Self {
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

/// Hashes the texts of keys and tokens, under a secret of the server. Texts that were hashed under an earlier secret
/// are still recognised.
#[derive(Clone)]
pub struct KeyHasher {
    current: [u8; blake3::KEY_LEN],
    /// Of the secrets before, the newest first.
    previous: Vec<[u8; blake3::KEY_LEN]>,
}

const CONTEXT: &str = "sluicegate 2026-11 texts of api keys";

impl KeyHasher {
    /// A hasher with this secret. Another secret makes every key of the directory invalid.
    pub fn new(server_secret: &[u8; 32]) -> Self {
        Self { current: blake3::derive_key(CONTEXT, server_secret), previous: Vec::new() }
    }

    /// The same, and what was hashed under one of these earlier secrets is recognised.
    #[must_use]
    pub fn with_previous(mut self, server_secrets: impl IntoIterator<Item = [u8; 32]>) -> Self {
        self.previous =
            server_secrets.into_iter().map(|secret| blake3::derive_key(CONTEXT, &secret)).collect();
        self
    }

    /// What tells one secret from another, and nothing else about it: of the current secret, then of those before.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = String> {
        [&self.current].into_iter().chain(&self.previous).map(|key| {
            let hash = blake3::derive_key("sluicegate 2026-11 fingerprint of the secret of keys", key);
            blake3::Hash::from_bytes(hash).to_hex()[..32].to_owned()
        })
    }

    /// The hash of what was presented, under the current secret.
    pub fn hash(&self, presented: &PresentedKey<'_>) -> KeyHash {
        hash_text(&self.current, presented.expose())
    }

    /// Whether there are earlier secrets.
    #[inline]
    pub(crate) fn has_previous(&self) -> bool {
        !self.previous.is_empty()
    }

    /// The hashes of what was presented, under each earlier secret.
    pub(crate) fn previous_hashes(&self, presented: &PresentedKey<'_>) -> impl Iterator<Item = KeyHash> {
        self.previous.iter().map(|key| hash_text(key, presented.expose()))
    }

    pub(crate) fn hash_secret(&self, secret: &SecretText) -> KeyHash {
        hash_text(&self.current, secret.expose())
    }

    /// The hashes of a text under every secret.
    pub(crate) fn hashes_of(&self, text: &str) -> impl Iterator<Item = KeyHash> {
        [&self.current].into_iter().chain(&self.previous).map(move |key| hash_text(key, text))
    }
}

fn hash_text(key: &[u8; blake3::KEY_LEN], text: &str) -> KeyHash {
    KeyHash(blake3::keyed_hash(key, text.as_bytes()))
}

/// Without the secret.
impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher(***)")
    }
}
