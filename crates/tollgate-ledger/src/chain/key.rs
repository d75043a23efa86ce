//! The key that signs: Ed25519, made once, kept in a file that only its owner may read.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use super::error::ChainError;
use crate::spool::segment::sync_directory;
use tollgate_core::digest::{Digest, NotHex, parse_hex, write_hex};

/// Its name in the directory of the chain.
pub(super) const FILE: &str = "chain.key";

/// What is signed begins with this, so that no signature means anything elsewhere.
const CONTEXT: &[u8] = b"tollgate ledger chain v1\n";

/// The bytes of a signature.
pub(super) type Signature = [u8; 64];

/// The key with which signatures are checked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    pub(super) fn verify(&self, link: &Digest, signature: &Signature) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(&message(link), signature).is_ok()
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
    pair: Ed25519KeyPair,
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
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| wrong())?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| wrong())?;
        Ok(Self { pair, public: PublicKey(public) })
    }

    pub(super) fn public(&self) -> PublicKey {
        self.public
    }

    pub(super) fn sign(&self, link: &Digest) -> Result<Signature, ChainError> {
        let signature = self.pair.try_sign(&message(link)).map_err(|_| ChainError::Signing)?;
        signature.as_ref().try_into().map_err(|_| ChainError::Signing)
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
