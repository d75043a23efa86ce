//! The chain: proof that what was recorded is still what is there.
//!
//! Every segment that is full gets a line in `chain.log`: digests of its bytes, a link that is the hash of the link
//! before it and of the line, and a signature of that link. What is in the open segment so far is signed in
//! `checkpoint`, which is replaced now and then. Beside each segment lie short sums of its records; they prove nothing
//! by themselves, but tell which record is the first that was changed.
//!
//! When hours are closed, a digest of their rows gets a line, too: a sum that is changed later is found.
//!
//! Whoever can read the key can sign anything. Who keeps the public key and a checkpoint elsewhere can also tell that
//! the end of everything was cut off.

mod audit_check;
mod checkpoint;
mod error;
mod extend;
mod key;
mod line;
mod log;
mod rollup;
mod seen;
mod sums;
mod verify;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

pub use audit_check::{AuditCheck, AuditVerified};
pub use checkpoint::Checkpoint;
pub use error::{ChainError, FirstBad, VerifyError, Why};
pub use extend::Extended;
pub use key::PublicKey;
use key::SigningKey;
use line::Head;
pub use rollup::SignedRollup;
use seen::Seen;
pub use sluicegate_core::audit;
pub use sluicegate_core::digest::Digest;
pub(crate) use sums::replace;
pub use verify::{Checked, Verified, verify, verify_and_tell};

use crate::hour::Hour;
use crate::spool::Position;

/// Writes the chain of a spool. Only one may do so at a time.
#[derive(Debug)]
pub struct Chain {
    dir: PathBuf,
    key: SigningKey,
    head: Head,
    /// All segments before it are in the chain; nothing if none is.
    end: Option<Position>,
    /// Segments before it may be gone.
    pruned: Position,
    /// Rows of hours before it are signed.
    rolled: Hour,
    /// Rows of hours before it may be gone.
    shed: Hour,
    /// How far the audit log was seen.
    seen: Seen,
}

impl Chain {
    /// Opens the chain in `dir`, which is made if it is not there, with a new key if it has none.
    pub fn open(dir: &Path) -> Result<Self, ChainError> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(ChainError::at(dir))?;
        let key = SigningKey::load_or_make(&dir.join(key::FILE))?;
        let found = log::open(dir, &key)?;
        let seen = Seen::open(dir, checkpoint::signed_audit(dir, &key.public())?)?;
        let log::Opened { head, end, pruned, rollups, shed } = found;
        let rolled = rollups.until();
        Ok(Self { dir: dir.to_owned(), key, head, end, pruned, rolled, shed, seen })
    }

    /// The key with which signatures are checked.
    pub fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    /// All segments before it are in the chain.
    pub fn end(&self) -> Position {
        self.end.unwrap_or_default()
    }
}
