//! The key under which subjects of meters and client ids are hashed, over rotations of the master secret.
//!
//! It must not change with the secret: meters would be lost, and quotas be full again. While there was one secret it is
//! derived from it. From the first rotation on it is kept in the store, encrypted under each secret that the node has.
//! Other uses of the secret follow it: see `docs/tokens.md`.

use std::fmt;

use crate::database::{Database, DatabaseError};
use crate::directory::RedisError;
use crate::key_text::NoRandomness;
use crate::redis::Link;
use crate::redis::directory::subject_keys;

const LENGTH: usize = 16;
const NONCE_LENGTH: usize = 16;
const MAC_LENGTH: usize = 16;
const VERSION: u8 = 1;

/// What the keys of the encryption are made for. Changing one orphans what is kept.
const ENCRYPTION: &str = "sluicegate 2026-11-18 encryption of the subject key";
const MAC: &str = "sluicegate 2026-11-18 authentication of the subject key";
const NAME: &str = "sluicegate 2026-11-18 name of a secret";

/// A key of subjects.
pub type SubjectKey = [u8; LENGTH];

/// Why there is no key of subjects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SubjectKeyError {
    /// The store keeps one, and none of the secrets opens it.
    OtherSecret,
    /// The database of this process.
    Database(DatabaseError),
    /// The Redis that nodes share.
    Redis(RedisError),
    /// The system gives no random bytes.
    Random(NoRandomness),
}

impl fmt::Display for SubjectKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherSecret => f.write_str(
                "the store was used with another SLUICEGATE_SECRET; give the current secret, and earlier ones in \
                 SLUICEGATE_SECRET_PREVIOUS",
            ),
            Self::Database(error) => error.fmt(f),
            Self::Redis(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SubjectKeyError {}

/// The secrets of a node, and how a key of subjects is derived from one.
#[derive(Clone, Copy)]
pub struct Rotation<'s> {
    /// The secret in use.
    pub current: &'s [u8],
    /// Those before it, the newest first.
    pub previous: &'s [&'s [u8]],
    /// The key of subjects of a secret that was never rotated.
    pub derive: fn(&[u8]) -> SubjectKey,
}

/// Without the secrets.
impl fmt::Debug for Rotation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rotation(***)")
    }
}

/// The key of subjects encrypted under one secret, and the name under which it is kept.
type EncryptedKey = (String, Vec<u8>);

impl<'s> Rotation<'s> {
    fn secrets(self) -> impl Iterator<Item = &'s [u8]> {
        [self.current].into_iter().chain(self.previous.iter().copied())
    }

    /// The key, and what is to be kept for each secret, given what is kept.
    fn resolve(
        self,
        kept: &[Option<Vec<u8>>],
        is_rotated: bool,
    ) -> Result<(SubjectKey, Vec<EncryptedKey>), SubjectKeyError> {
        let open = |(secret, kept): (&[u8], &Option<Vec<u8>>)| decrypt(secret, kept.as_deref()?);
        let key = match self.secrets().zip(kept).find_map(open) {
            Some(key) => key,
            None if is_rotated => return Err(SubjectKeyError::OtherSecret),
            // Before the first rotation there was the oldest.
            None => (self.derive)(self.previous.last().copied().unwrap_or(self.current)),
        };
        let mut missing = Vec::new();
        if is_rotated || !self.previous.is_empty() {
            for (secret, kept) in self.secrets().zip(kept) {
                if kept.is_none() {
                    missing.push((field(secret), encrypt(secret, key)?));
                }
            }
        }
        Ok((key, missing))
    }

    /// The key of subjects, kept in the database of this process.
    pub fn embedded(self, database: &Database) -> Result<SubjectKey, SubjectKeyError> {
        let meta = |name: &str| database.meta(name).map_err(SubjectKeyError::Database);
        let kept = self.secrets().map(|secret| meta(&field(secret))).collect::<Result<Vec<_>, _>>()?;
        let is_rotated = meta(ROTATED)?.is_some();
        let (key, missing) = self.resolve(&kept, is_rotated)?;
        if !missing.is_empty() {
            let mark = [(ROTATED.to_owned(), vec![VERSION])];
            for (name, value) in missing.into_iter().chain(mark) {
                database.set_meta(&name, value).wait().map_err(SubjectKeyError::Database)?;
            }
        }
        Ok(key)
    }

    /// The key of subjects, kept in the Redis that nodes share.
    pub async fn shared(self, link: &Link) -> Result<SubjectKey, SubjectKeyError> {
        let mut names: Vec<_> = self.secrets().map(field).collect();
        names.push(ROTATED.to_owned());
        let mut kept = subject_keys::read(link, &names).await.map_err(SubjectKeyError::Redis)?;
        let is_rotated = kept.pop().flatten().is_some();
        let (key, mut missing) = self.resolve(&kept, is_rotated)?;
        if !missing.is_empty() {
            missing.push((ROTATED.to_owned(), vec![VERSION]));
            subject_keys::keep(link, &missing).await.map_err(SubjectKeyError::Redis)?;
        }
        Ok(key)
    }
}

/// There was a rotation: the key is kept, and not derived.
const ROTATED: &str = "subjects";

/// Where the key is kept for a secret.
fn field(secret: &[u8]) -> String {
    let name = blake3::Hash::from_bytes(blake3::derive_key(NAME, secret)).to_hex();
    format!("{ROTATED}:{}", &name[..32])
}

fn encrypt(secret: &[u8], key: SubjectKey) -> Result<Vec<u8>, SubjectKeyError> {
    let mut nonce = [0; NONCE_LENGTH];
    getrandom::fill(&mut nonce).map_err(|_| SubjectKeyError::Random(NoRandomness))?;
    let mut bytes = vec![VERSION];
    bytes.extend(nonce);
    bytes.extend(key.iter().zip(pad(secret, &nonce)).map(|(one, other)| one ^ other));
    let mac = mac(secret, &bytes);
    bytes.extend(&mac.as_bytes()[..MAC_LENGTH]);
    Ok(bytes)
}

fn decrypt(secret: &[u8], bytes: &[u8]) -> Option<SubjectKey> {
    let (said, given) = bytes.split_at_checked(bytes.len().checked_sub(MAC_LENGTH)?)?;
    let (version, rest) = said.split_first()?;
    let (nonce, key) = rest.split_at_checked(NONCE_LENGTH)?;
    let expected = mac(secret, said);
    let differ = expected.as_bytes().iter().zip(given).fold(0, |differ, (one, other)| differ | (one ^ other));
    if *version != VERSION || differ != 0 {
        return None;
    }
    let key: Vec<u8> = key.iter().zip(pad(secret, nonce)).map(|(one, other)| one ^ other).collect();
    key.try_into().ok()
}

fn pad(secret: &[u8], nonce: &[u8]) -> [u8; 32] {
    *blake3::keyed_hash(&blake3::derive_key(ENCRYPTION, secret), nonce).as_bytes()
}

fn mac(secret: &[u8], said: &[u8]) -> blake3::Hash {
    blake3::keyed_hash(&blake3::derive_key(MAC, secret), said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derive(secret: &[u8]) -> SubjectKey {
        let mut key = [0; LENGTH];
        key.copy_from_slice(&blake3::derive_key("test", secret)[..LENGTH]);
        key
    }

    fn rotation<'s>(current: &'s str, previous: &'s [&'s [u8]]) -> Rotation<'s> {
        Rotation { current: current.as_bytes(), previous, derive }
    }

    #[test]
    fn the_key_stays_the_same_over_rotations_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("db")).unwrap();
        let first = rotation("a", &[]).embedded(&database).unwrap();
        assert_eq!(first, derive(b"a"));
        assert_eq!(rotation("b", &[b"a"]).embedded(&database), Ok(first));
        assert_eq!(rotation("b", &[]).embedded(&database), Ok(first));
        // A node that still signs with the old secret, and knows the new one.
        assert_eq!(rotation("a", &[b"b"]).embedded(&database), Ok(first));
        assert_eq!(rotation("c", &[b"b"]).embedded(&database), Ok(first));
        assert_eq!(rotation("c", &[]).embedded(&database), Ok(first));
        assert_eq!(rotation("x", &[]).embedded(&database), Err(SubjectKeyError::OtherSecret));
    }

    #[test]
    fn one_changed_bit_is_found() {
        let kept = encrypt(b"a", [7; LENGTH]).unwrap();
        assert_eq!(decrypt(b"a", &kept), Some([7; LENGTH]));
        assert_eq!(decrypt(b"b", &kept), None);
        for place in 0..kept.len() {
            let mut changed = kept.clone();
            changed[place] ^= 1;
            assert_eq!(decrypt(b"a", &changed), None, "{place}");
        }
    }
}
