//! The key that signs: Ed25519, made once, kept in a file that only its owner may read.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

use ed25519_compact as ed25519;

use super::error::ChainError;
use crate::spool::segment::sync_directory;
use sluicegate_core::digest::{Digest, NotHex, parse_hex, write_hex};

/// Its name in the directory of the chain.
pub(super) const FILE: &str = "chain.key";

/// What is signed begins with this, so that no signature means anything elsewhere.
const CONTEXT: &[u8] = b"sluicegate ledger chain v1\n";

/// The bytes of a signature.
pub(super) type Signature = [u8; 64];

/// The key with which signatures are checked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    pub(super) fn verify(&self, link: &Digest, signature: &Signature) -> bool {
        let key = ed25519::PublicKey::new(self.0);
        key.verify(message(link), &ed25519::Signature::new(*signature)).is_ok()
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl FromStr for PublicKey {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        parse_hex(text).map(Self)
    }
}

/// The key that signs.
pub(super) struct SigningKey {
    pair: ed25519::KeyPair,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, ***)", self.public)
    }
}

impl SigningKey {
    /// The key in this file, which is made if it is not there.
    pub(super) fn load_or_make(path: &Path) -> Result<Self, ChainError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => make(path)?,
            Err(error) => return Err(ChainError::at(path)(error)),
        };
        let wrong = || ChainError::Key { file: path.to_owned() };
        let seed: [u8; 32] = parse_hex(text.trim_end()).map_err(|_| wrong())?;
        let pair = ed25519::KeyPair::from_seed(ed25519::Seed::new(seed));
        let public = PublicKey(*pair.pk);
        Ok(Self { pair, public })
    }

    pub(super) fn public(&self) -> PublicKey {
        self.public
    }

    pub(super) fn sign(&self, link: &Digest) -> Signature {
        // Without noise the same link has the same signature.
        *self.pair.sk.sign(message(link), None)
    }
}

fn message(link: &Digest) -> Vec<u8> {
    [CONTEXT, &link.0].concat()
}

/// Makes a seed and keeps it. It has its name only when it is whole.
fn make(path: &Path) -> Result<String, ChainError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|_| ChainError::Signing)?;
    let text = format!("{}\n", Digest(seed));
    let unfinished = path.with_extension("tmp");
    let written = (|| {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        path.parent().map_or(Ok(()), sync_directory)
    })();
    written.map_err(ChainError::at(path))?;
    Ok(text)
}
