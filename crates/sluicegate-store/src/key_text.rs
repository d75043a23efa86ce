//! Keys as text: `sg_<live|test>_<key id>_<secret><crc>`, all base62.
//!
//! The checksum lets junk and typing mistakes fail before any look-up. The secret is shown once, when it is made;
//! what is kept is a keyed hash of the whole text.

mod base62;
mod secret;

use std::fmt;

pub use secret::{KeyHash, KeyHasher, SecretText};

/// No random bytes could be had from the operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRandomness;

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gave no random bytes")
    }
}

impl std::error::Error for NoRandomness {}

pub(crate) use base62::{CRC_LENGTH, crc, random as random_base62};

pub use sluicegate_core::key_env::KeyEnv;

/// What the text of a key of this environment begins with.
const fn prefix(env: KeyEnv) -> &'static str {
    match env {
        KeyEnv::Live => "sg_live_",
        KeyEnv::Test => "sg_test_",
    }
}

/// The name of a key: 12 characters of base62. It is no secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; KeyId::LENGTH]);

impl KeyId {
    /// How many characters an id has.
    pub const LENGTH: usize = 12;

    /// The id that this text is, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; Self::LENGTH] = text.as_bytes().try_into().ok()?;
        base62::is_base62(&bytes).then_some(Self(bytes))
    }

    /// An id that nobody has: 71 random bits.
    pub fn random() -> Result<Self, NoRandomness> {
        Ok(Self(base62::random()?))
    }

    /// Its characters.
    pub const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// What was presented is not the text of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadKey {
    /// It does not have the form of a key.
    Form,
    /// Its last characters do not fit the others: mistyped, cut off, or made up.
    Checksum,
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "not the form of a key",
            Self::Checksum => "the key's checksum is wrong",
        })
    }
}

impl std::error::Error for BadKey {}

/// A text that has the form and the checksum of a key. Whether there is such a key is another question.
#[derive(Clone, Copy)]
pub struct PresentedKey<'t> {
    /// What it says it is for.
    pub env: KeyEnv,
    /// Which key it says it is.
    pub id: KeyId,
    text: &'t str,
}

const PREFIX_LENGTH: usize = "sg_live_".len();
const ID_END: usize = PREFIX_LENGTH + KeyId::LENGTH;
const SECRET_LENGTH: usize = 32;
const BODY_LENGTH: usize = ID_END + 1 + SECRET_LENGTH;
/// How many characters the text of a key has.
pub const KEY_LENGTH: usize = BODY_LENGTH + CRC_LENGTH;

impl<'t> PresentedKey<'t> {
    /// The key that this text is, or why it is none. Touches nothing but the text.
    pub fn parse(text: &'t str) -> Result<Self, BadKey> {
        let bytes = text.as_bytes();
        if bytes.len() != KEY_LENGTH || !text.is_ascii() || bytes[ID_END] != b'_' {
            return Err(BadKey::Form);
        }
        let is_of = |env: &KeyEnv| text.starts_with(prefix(*env));
        let env = [KeyEnv::Live, KeyEnv::Test].into_iter().find(is_of).ok_or(BadKey::Form)?;
        let id = KeyId::parse(&text[PREFIX_LENGTH..ID_END]).ok_or(BadKey::Form)?;
        if !base62::is_base62(&bytes[ID_END + 1..]) {
            return Err(BadKey::Form);
        }
        let (body, checksum) = bytes.split_at(BODY_LENGTH);
        if crc(body) != checksum { Err(BadKey::Checksum) } else { Ok(Self { env, id, text }) }
    }

    /// The whole text, secret included.
    pub(crate) fn expose(&self) -> &'t str {
        self.text
    }
}

/// Without the secret.
impl fmt::Debug for PresentedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentedKey").field("env", &self.env).field("id", &self.id).finish_non_exhaustive()
    }
}

/// The text of a new key of this id: a new secret each time.
pub(crate) fn make(env: KeyEnv, id: KeyId) -> Result<SecretText, NoRandomness> {
    let mut secret = base62::random::<SECRET_LENGTH>()?;
    let mut text = String::with_capacity(KEY_LENGTH);
    text.push_str(prefix(env));
    text.push_str(id.as_str());
    text.push('_');
    text.extend(secret.iter().copied().map(char::from));
    let checksum = crc(text.as_bytes());
    text.extend(checksum.iter().copied().map(char::from));
    secret.fill(0);
    std::hint::black_box(&secret);
    Ok(SecretText::new(text))
}

#[cfg(test)]
mod tests;
