//! Checking the entries of an audit log against what was signed of it, and against what this node has seen of it.
//!
//! The signed link stands for every byte of every entry up to it, but does not tell which of them was changed. The
//! links that were seen tell, and so do links that are kept beside the entries; neither proves anything alone.

use std::path::{Path, PathBuf};

use sluicegate_core::audit::{self, Entry, Head};
use sluicegate_core::digest::Digest;

use super::error::{FirstBad, VerifyError, Why};
use super::seen::{self, SeenLinks};

/// What is proven of an audit log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AuditVerified {
    /// How many entries are what they were when they were signed.
    pub signed: u64,
    /// How many came after the checkpoint: they are linked, and not signed yet.
    pub newer: u64,
    /// The last entry and its link.
    pub head: Head,
}

/// Checks entries one after the other.
#[derive(Debug)]
pub struct AuditCheck {
    /// Where the log lies, for messages.
    log: PathBuf,
    links: PathBuf,
    signed: Head,
    seen: SeenLinks,
    /// The next link of the file.
    next_seen: Option<Head>,
    last_seen: u64,
    verified: AuditVerified,
    /// The first entry at which something does not fit. Whose fault it is the signed link tells.
    suspect: Option<(Source, FirstBad)>,
}

/// Which link an entry does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The one that is kept beside it.
    Kept,
    /// The one that this node has seen.
    Seen,
}

impl AuditCheck {
    /// Begins with the first entry of the log at `log`. What is at `dir` is the chain that signed it.
    ///
    /// To be called before the log is read: of a log that grows meanwhile all is there that was seen until then.
    pub(crate) fn open(dir: &Path, log: &Path, signed: Head) -> Result<Self, VerifyError> {
        let links = seen::path(dir);
        let mut seen = SeenLinks::open(&links).map_err(VerifyError::at(&links))?;
        let next_seen = seen.next().map_err(VerifyError::at(&links))?;
        Ok(Self {
            log: log.to_owned(),
            links,
            signed,
            seen,
            next_seen,
            last_seen: 0,
            verified: AuditVerified::default(),
            suspect: None,
        })
    }

    /// The next entry, with the link that is kept beside it, if one is.
    pub fn entry(&mut self, entry: &Entry<'_>, kept: Option<&Digest>) -> Result<(), VerifyError> {
        let before = self.verified.head;
        if entry.seq <= before.seq {
            return Err(self.bad(entry.seq, Why::Entry).into());
        }
        let link = audit::link(&before.link, entry);
        if kept.is_some_and(|kept| *kept != link) {
            let bad = if entry.seq > before.seq + 1 {
                self.bad(before.seq + 1, Why::EntryMissing)
            } else {
                self.bad(entry.seq, Why::Entry)
            };
            self.suspect(Source::Kept, bad);
        }
        self.compare_seen(Head { seq: entry.seq, link })?;
        self.verified.head = Head { seq: entry.seq, link };
        if before.seq < self.signed.seq && entry.seq >= self.signed.seq {
            self.compare_signed()?;
        }
        if entry.seq <= self.signed.seq {
            self.verified.signed += 1;
            return Ok(());
        }
        self.verified.newer += 1;
        self.suspect.take().map_or(Ok(()), |(_, bad)| Err(bad.into()))
    }

    /// There are no more entries.
    pub fn end(mut self) -> Result<AuditVerified, VerifyError> {
        if self.verified.head.seq < self.signed.seq {
            let missing = self.bad(self.verified.head.seq + 1, Why::EntryMissing);
            return Err(self.suspect.take().map_or(missing, |(_, bad)| bad).into());
        }
        if self.last_seen < self.signed.seq {
            return Err(self.bad_link(self.last_seen + 1).into());
        }
        if let Some(seen) = self.next_seen {
            // Seen, and gone since.
            return Err(self.bad(seen.seq, Why::EntryMissing).into());
        }
        Ok(self.verified)
    }

    fn compare_seen(&mut self, now: Head) -> Result<(), VerifyError> {
        while let Some(seen) = self.next_seen.filter(|seen| seen.seq <= now.seq) {
            if seen.seq < now.seq {
                self.suspect(Source::Seen, self.bad(seen.seq, Why::EntryMissing));
            } else if seen.link != now.link {
                self.suspect(Source::Seen, self.bad(seen.seq, Why::Entry));
            }
            self.last_seen = seen.seq;
            self.next_seen = self.seen.next().map_err(VerifyError::at(&self.links))?;
        }
        Ok(())
    }

    /// All entries up to the signed one have been given.
    fn compare_signed(&mut self) -> Result<(), VerifyError> {
        let suspect = self.suspect.take();
        if self.verified.head == self.signed {
            // The entries are what they were. So it is what is kept beside them that is not.
            return match suspect {
                None => Ok(()),
                Some((Source::Kept, bad)) => Err(FirstBad { why: Why::Link, ..bad }.into()),
                Some((Source::Seen, bad)) => Err(self.bad_link(bad.entry.unwrap_or_default()).into()),
            };
        }
        let unknown =
            if self.verified.head.seq == self.signed.seq { Why::Entries } else { Why::EntryMissing };
        Err(suspect.map_or_else(|| self.bad(self.signed.seq, unknown), |(_, bad)| bad).into())
    }

    fn suspect(&mut self, source: Source, bad: FirstBad) {
        self.suspect.get_or_insert((source, bad));
    }

    fn bad(&self, seq: u64, why: Why) -> FirstBad {
        FirstBad { entry: Some(seq), ..FirstBad::file(&self.log, why) }
    }

    fn bad_link(&self, seq: u64) -> FirstBad {
        FirstBad { entry: Some(seq), ..FirstBad::file(&self.links, Why::Link) }
    }
}
