//! The ledger of a node: the book, the chain and the way to object storage, in one directory beside the spool.
//!
//! Nothing here is on the way of a request. Whoever runs a node calls, now and then and not on a thread that serves:
//! [`Ledger::roll`] and [`Ledger::close_due`] every few seconds, [`Ledger::checkpoint`] every minute and at the end,
//! [`Sealer::seal_due`] and [`Ledger::prune`] every few minutes.

mod error;
mod settings;

use std::fs::DirBuilder;
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::time::{Nanos, Timestamp};

pub use error::{OpenLedgerError, PruneError, RepairError};
pub use settings::LedgerSettings;

use crate::chain::{
    self, AuditCheck, Chain, ChainError, Checked, Checkpoint, Extended, PublicKey, SignedRollup, Verified,
    VerifyError, Why, audit,
};
use crate::export::{self, ExportError, Exported, Format, Names};
use crate::hour::{ALL_HOURS, Hour};
use crate::record::Record;
use crate::seal::{Destination, Sealer};
use crate::spool::{Position, Spool, segment};
use crate::usage::{
    Book, BookError, Closed, Needs, Query, Recount, Reopened, RollError, Rolled, Shed, Standing, Usage, proof,
};

/// The name of the node: a file of its own, so that it outlives the book. Older versions kept it in the book.
const NODE: &str = "node";
/// The file of the book, and the folder of the chain.
const BOOK: &str = "usage.db";
const CHAIN: &str = "chain";

/// The ledger of a node.
#[derive(Debug)]
pub struct Ledger {
    dir: PathBuf,
    grace: Nanos,
    retain: Mutex<Retain>,
    node: String,
    book: Arc<Book>,
    /// Opened when it is first wanted: a chain that is damaged stops nobody from counting.
    chain: Mutex<Option<Chain>>,
}

/// How long what is kept.
#[derive(Clone, Copy, Debug)]
struct Retain {
    records: Nanos,
    rollups: Nanos,
}

/// What was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    /// How many segments of the spool.
    pub segments: usize,
    /// What of the book.
    pub shed: Shed,
}

impl Ledger {
    /// Opens the ledger in `dir`, which is made if it is not there. Whoever does has the spool open.
    pub fn open(dir: &Path, settings: LedgerSettings) -> Result<Self, OpenLedgerError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|source| OpenLedgerError::Io { path: dir.to_owned(), source })?;
        let book = Book::open(&dir.join(BOOK))?;
        let LedgerSettings { node, grace, retain_records, retain_rollups } = settings;
        let node = settings::node_of(dir, &book, node.as_deref())?;
        let retain = Mutex::new(Retain { records: retain_records, rollups: retain_rollups });
        let (book, chain) = (Arc::new(book), Mutex::new(None));
        let ledger = Self { dir: dir.to_owned(), grace, retain, node, book, chain };
        ledger.restore_closings()?;
        Ok(ledger)
    }

    /// A book that was lost is made again from the records, with the hours closed where the chain says that they were.
    /// A chain that cannot be read stops nobody: the book begins anew.
    fn restore_closings(&self) -> Result<(), BookError> {
        if self.book.standing()?.is_some() || !self.dir.join(CHAIN).exists() {
            return Ok(());
        }
        match self.with_chain(|chain| chain.rollups()) {
            Ok(rollups) if !rollups.is_empty() => self.book.restore_closings(&rollups),
            _ => Ok(()),
        }
    }

    /// The name of the node: part of the names of its objects and of the ids of its events.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The book itself.
    pub fn book(&self) -> &Arc<Book> {
        &self.book
    }

    /// How far the book has come; nothing if nothing was ever counted.
    pub fn standing(&self) -> Result<Option<Standing>, BookError> {
        self.book.standing()
    }

    /// Counts every record that is on disk and was not counted yet.
    pub fn roll(&self, spool: &Spool) -> Result<Rolled, RollError> {
        self.book.roll(spool)
    }

    /// What was used up to this moment, whether it is rolled up or not.
    pub fn query(&self, spool: &Spool, query: &Query) -> Result<Usage, RollError> {
        self.book.query(spool, query)
    }

    /// Closes the hours that are over.
    pub fn close_due(&self, spool: &Spool, now: Timestamp) -> Result<Closed, RollError> {
        let closed = self.book.close_due(spool, now, self.grace)?;
        if closed != Closed::Nothing {
            // What cannot be signed now is signed with the next checkpoint.
            let _ = self.with_chain(|chain| self.sign_rollups(chain, now));
        }
        Ok(closed)
    }

    /// Signs the rows of hours that were closed since. Rows that were lost with the book and cannot be made again are
    /// said to be gone.
    fn sign_rollups(&self, chain: &mut Chain, now: Timestamp) -> Result<(), ChainError> {
        chain.allow_shedding(self.book.floor()?, now)?;
        let unsigned = self.book.unsigned_rollups(chain.rolled_until())?;
        chain.sign_rollups(&unsigned)
    }

    /// Opens the hours again that were closed by a clock that was later than `latest`, and counts what was recorded
    /// since in its own hour.
    pub fn reopen(&self, spool: &Spool, latest: Timestamp, now: Timestamp) -> Result<Reopened, RepairError> {
        // Also what was recorded last, ahead of the time that holds now.
        self.book.roll(spool)?;
        let reopened = self.book.reopen(latest, now, |from| {
            // Counting goes on with a damaged chain.
            let _ = self.with_chain(|chain| chain.allow_reopening(from, now));
        });
        let reopened = reopened.map_err(RollError::Book)?;
        if let Reopened::From(from) = reopened {
            self.repair(spool, from..ALL_HOURS.end)?;
        }
        Ok(reopened)
    }

    /// Counts the records of these hours once more, and compares.
    pub fn recount(&self, spool: &Spool, hours: Range<Hour>) -> Result<Recount, RollError> {
        self.book.recount(spool, hours)
    }

    /// Counts the records of these hours once more, and writes what differs as the records have it: as far back as all
    /// records are there. What was signed of the hours is signed anew where it is another now.
    pub fn repair(&self, spool: &Spool, hours: Range<Hour>) -> Result<Recount, RepairError> {
        let recount = self.book.repair(spool, hours)?;
        self.with_chain(|chain| {
            let mut changed = Vec::new();
            for rollup in chain.rollups()? {
                let is_touched = recount.miscounted.iter().any(|row| {
                    let hour = row.key.hour();
                    rollup.from <= hour && hour < rollup.until
                });
                if is_touched {
                    let (rows, digest) = self.book.digest(&(rollup.from..rollup.until))?;
                    let now = SignedRollup { rows, digest, ..rollup };
                    changed.extend((now != rollup).then_some(now));
                }
            }
            chain.sign_rollups(&changed)
        })?;
        Ok(recount)
    }

    /// Writes usage for other programs.
    pub fn export(
        &self,
        query: &Query,
        format: &Format,
        names: &dyn Names,
        out: impl std::io::Write + Send,
    ) -> Result<Exported, ExportError> {
        export::export(&self.book, query, format, (&self.node, names), out)
    }

    /// Seals the hours of this node.
    pub fn sealer(&self, destination: Destination, names: Arc<dyn Names>) -> Sealer {
        Sealer { book: Arc::clone(&self.book), names, node: self.node.clone(), destination }
    }

    /// Adds every segment that is full to the chain.
    pub fn extend_chain(&self, spool: &Spool) -> Result<Extended, ChainError> {
        self.with_chain(|chain| chain.extend(spool))
    }

    /// The same, and signs what is in the open segment, together with the end of the audit log.
    pub fn checkpoint(
        &self,
        spool: &Spool,
        audit: audit::Head,
        now: Timestamp,
    ) -> Result<Checkpoint, ChainError> {
        self.with_chain(|chain| {
            self.sign_rollups(chain, now)?;
            chain.checkpoint(spool, audit, now)
        })
    }

    /// The last entry of the audit log that was seen. Where there are newer ones, [`Ledger::see_audit`] wants them.
    pub fn audit_head(&self) -> Result<audit::Head, ChainError> {
        self.with_chain(|chain| Ok(chain.audit_head()))
    }

    /// Keeps the links of entries that are new in the audit log.
    pub fn see_audit(&self, heads: &[audit::Head]) -> Result<(), ChainError> {
        self.with_chain(|chain| chain.see_audit(heads))
    }

    /// The key with which the chain can be checked.
    pub fn public_key(&self) -> Result<PublicKey, ChainError> {
        self.with_chain(|chain| Ok(chain.public_key()))
    }

    fn with_chain<T>(&self, work: impl FnOnce(&mut Chain) -> Result<T, ChainError>) -> Result<T, ChainError> {
        let mut chain = self.chain.lock();
        let mut open = match chain.take() {
            Some(open) => open,
            None => Chain::open(&self.dir.join(CHAIN))?,
        };
        // After an error the files say where it ended, so it is opened anew.
        let done = work(&mut open)?;
        *chain = Some(open);
        Ok(done)
    }

    /// From now on single records and roll-ups are kept for this long.
    pub fn keep_for(&self, records: Nanos, rollups: Nanos) {
        *self.retain.lock() = Retain { records, rollups };
    }

    /// Removes what is older than is to be kept: segments that are counted, chained and, if hours are exported,
    /// sealed; and rows of hours that are sealed likewise. Nothing from `keep_from` on goes from the spool.
    pub fn prune(
        &self,
        spool: &Spool,
        keep_from: Position,
        needs: Needs,
        now: Timestamp,
    ) -> Result<Pruned, PruneError> {
        let Retain { records, rollups } = *self.retain.lock();
        let done = self.book.done_before(now, records, needs)?.min(keep_from);
        let segments = spool.segments_from(spool.first());
        let whole = segments.iter().map(|segment| segment.end()).take_while(|end| *end <= done).last();
        let mut pruned = Pruned::default();
        if let Some(before) = whole {
            // Said before it is done: a crash in between leaves more than is needed, and nothing unexplained.
            let before = self.with_chain(|chain| chain.allow_pruning(before, now))?;
            let forgotten = spool.forget_before(before);
            pruned.segments =
                forgotten.map_err(|source| PruneError::Io { path: spool.dir().to_owned(), source })?;
            self.with_chain(|chain| chain.drop_sums_before(spool.first()))?;
        }
        if let Some(before) = self.book.sheds_before(now, rollups, needs)? {
            self.with_chain(|chain| {
                self.sign_rollups(chain, now)?;
                chain.allow_shedding(before, now)
            })?;
            pruned.shed = self.book.shed(now, rollups, needs)?;
        }
        Ok(pruned)
    }

    /// Checks the spool in `spool` against the chain of the ledger in `dir`. It needs neither of them to be open.
    pub fn verify(dir: &Path, spool: &Path, expected: Option<PublicKey>) -> Result<Verified, VerifyError> {
        Self::verify_and_tell(dir, spool, expected, &mut |_| {})
    }

    /// The same, and says how far it has come.
    pub fn verify_and_tell(
        dir: &Path,
        spool: &Path,
        expected: Option<PublicKey>,
        tell: &mut dyn FnMut(Checked),
    ) -> Result<Verified, VerifyError> {
        let verified = Self::verify_once(dir, spool, expected, tell);
        if matches!(&verified, Err(VerifyError::Bad(bad)) if bad.why == Why::Rollup) {
            // Rows may have been removed or signed anew since the lines were read.
            return Self::verify_once(dir, spool, expected, tell);
        }
        verified
    }

    fn verify_once(
        dir: &Path,
        spool: &Path,
        expected: Option<PublicKey>,
        tell: &mut dyn FnMut(Checked),
    ) -> Result<Verified, VerifyError> {
        let mut verified = chain::verify_and_tell(&dir.join(CHAIN), spool, expected, tell)?;
        let signed = proof::Signed { rollups: &verified.rollups, shed: verified.shed };
        let records = |until: Position, each: &mut dyn FnMut(Position, &Record)| {
            segment::read_records(spool, until, each).map_err(VerifyError::at(spool))
        };
        verified.rows = proof::verify(&dir.join(BOOK), &signed, records)?;
        Ok(verified)
    }

    /// Checks the audit log at `log` against what the ledger in `dir` has signed and seen of it. To be called before
    /// the log is read.
    pub fn check_audit(dir: &Path, log: &Path, signed: audit::Head) -> Result<AuditCheck, VerifyError> {
        AuditCheck::open(&dir.join(CHAIN), log, signed)
    }
}
