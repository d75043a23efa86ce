//! The links of the audit log as this node has seen them. The log itself lies elsewhere, perhaps where others can
//! write: what was seen of it once is appended here and never changed, and the last of it is in every checkpoint.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sluicegate_core::audit::Head;
use sluicegate_core::digest::Digest;

use super::error::ChainError;

/// The bytes of one link: the number of its entry, and the link.
const LINK_BYTES: usize = 40;

/// Where the links lie.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("audit.links")
}

/// How far the log was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Seen {
    /// The last entry that was seen.
    pub(super) head: Head,
    /// The last that was signed.
    pub(super) signed: Head,
}

impl Seen {
    /// What the file says, of which no more is read than its end. What was being written when the machine lost its
    /// power is taken away.
    pub(super) fn open(dir: &Path, signed: Head) -> Result<Self, ChainError> {
        let path = path(dir);
        let head = last(&path).map_err(ChainError::at(&path))?;
        Ok(Self { head, signed })
    }

    /// The same with more entries, which must be those that were signed, if they were. They are on disk afterwards.
    pub(super) fn append(self, dir: &Path, heads: &[Head]) -> Result<Self, ChainError> {
        let Self { mut head, signed } = self;
        let mut bytes = Vec::with_capacity(heads.len() * LINK_BYTES);
        for next in heads {
            let is_signed = next.seq == signed.seq && next.link == signed.link;
            let leaves_out = head.seq < signed.seq && signed.seq <= next.seq && !is_signed;
            if leaves_out {
                return Err(ChainError::Audit { seq: signed.seq });
            }
            if next.seq <= head.seq {
                return Err(ChainError::Audit { seq: next.seq });
            }
            bytes.extend_from_slice(&next.seq.to_le_bytes());
            bytes.extend_from_slice(&next.link.0);
            head = *next;
        }
        let path = path(dir);
        let written =
            OpenOptions::new().append(true).create(true).mode(0o600).open(&path).and_then(|mut file| {
                file.write_all(&bytes)?;
                file.sync_data()
            });
        written.map_err(ChainError::at(&path))?;
        Ok(Self { head, signed })
    }

    /// Whether a checkpoint may sign this: what was signed once is never taken back.
    pub(super) fn may_sign(&self, head: Head) -> Result<(), ChainError> {
        let is_same = head.seq == self.signed.seq && head.link == self.signed.link;
        if head.seq > self.signed.seq || is_same {
            Ok(())
        } else {
            Err(ChainError::Audit { seq: self.signed.seq })
        }
    }
}

fn last(path: &Path) -> io::Result<Head> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Head::default()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let whole = length / LINK_BYTES as u64 * LINK_BYTES as u64;
    if whole < length {
        file.set_len(whole)?;
        file.sync_all()?;
    }
    let Some(start) = whole.checked_sub(LINK_BYTES as u64) else { return Ok(Head::default()) };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = [0; LINK_BYTES];
    file.read_exact(&mut bytes)?;
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8; LINK_BYTES]) -> Head {
    let (seq, link) = bytes.split_at(8);
    Head {
        seq: u64::from_le_bytes(seq.try_into().unwrap_or_default()),
        link: Digest(link.try_into().unwrap_or_default()),
    }
}

/// The links that were there when it was opened, one after the other.
#[derive(Debug)]
pub(super) struct SeenLinks {
    file: Option<BufReader<File>>,
    left: u64,
}

impl SeenLinks {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => {
                let left = fs::metadata(path)?.len() / LINK_BYTES as u64;
                Ok(Self { file: Some(BufReader::new(file)), left })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self { file: None, left: 0 }),
            Err(error) => Err(error),
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Head>> {
        let Some(file) = self.file.as_mut().filter(|_| self.left > 0) else { return Ok(None) };
        let mut bytes = [0; LINK_BYTES];
        file.read_exact(&mut bytes)?;
        self.left -= 1;
        Ok(Some(parse(&bytes)))
    }
}
