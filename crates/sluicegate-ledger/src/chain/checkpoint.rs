//! The checkpoint: what was on disk at one moment, signed. There is one, which is replaced.

use std::fmt;
use std::path::{Path, PathBuf};

use sluicegate_core::time::Timestamp;

use super::error::ChainError;
use super::key::{PublicKey, SigningKey};
use super::line::{self, Found};
use super::{audit, sums};
use crate::spool::Position;
use sluicegate_core::digest::Digest;

const CONTEXT: &str = "sluicegate 2026 ledger checkpoint v1";

/// What was on disk at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// When it was signed.
    pub at: Timestamp,
    /// How many lines the chain had.
    pub lines: u64,
    /// The link of the last of them.
    pub link: Digest,
    /// The first position of the open segment, or `position` if nothing is in it.
    pub segment: Position,
    /// All records before it are in the chain or in the open segment.
    pub position: Position,
    /// Of the header of the open segment and its records before `position`.
    pub content: Digest,
    /// Of their sums.
    pub sums: Digest,
    /// The end of the audit log.
    pub audit: audit::Head,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, lines, link, segment, position, content, sums, audit } = self;
        write!(
            f,
            "checkpoint {} {lines} {link} {} {} {content} {sums}",
            at.as_nanos(),
            segment.0,
            position.0
        )?;
        write!(f, " {} {}", audit.seq, audit.link)
    }
}

impl Checkpoint {
    fn parse(body: &str) -> Option<Self> {
        let mut parts = body.split(' ');
        let parts = &mut parts;
        if parts.next()? != "checkpoint" {
            return None;
        }
        let checkpoint = Self {
            at: Timestamp::from_nanos(line::next(parts)?),
            lines: line::next(parts)?,
            link: line::next(parts)?,
            segment: Position(line::next(parts)?),
            position: Position(line::next(parts)?),
            content: line::next(parts)?,
            sums: line::next(parts)?,
            audit: audit::Head { seq: line::next(parts)?, link: line::next(parts)? },
        };
        (checkpoint.to_string() == body).then_some(checkpoint)
    }

    fn digest(&self) -> Digest {
        Digest::link(CONTEXT, &self.link, self.to_string().as_bytes())
    }
}

/// Where it lies.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("checkpoint")
}

pub(super) fn write(dir: &Path, checkpoint: &Checkpoint, key: &SigningKey) -> Result<(), ChainError> {
    let text = line::signed(&checkpoint.to_string(), &checkpoint.digest(), key);
    let path = path(dir);
    sums::replace(&path, format!("{text}\n").as_bytes()).map_err(ChainError::at(&path))
}

/// What the last checkpoint signed of the audit log. One that is missing or damaged signs nothing: it is replaced.
pub(super) fn signed_audit(dir: &Path, key: &PublicKey) -> Result<audit::Head, ChainError> {
    let path = path(dir);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(read(&bytes, key).map(|checkpoint| checkpoint.audit).unwrap_or_default()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(audit::Head::default()),
        Err(error) => Err(ChainError::at(&path)(error)),
    }
}

/// The checkpoint that these bytes are, if it is signed with this key.
pub(super) fn read(bytes: &[u8], key: &PublicKey) -> Option<Checkpoint> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let found = Found::parse(text)?;
    let checkpoint = Checkpoint::parse(found.body)?;
    let is_good = checkpoint.digest() == found.link && key.verify(&found.link, &found.signature);
    is_good.then_some(checkpoint)
}
