//! One SQLite file: the directory, names as numbers, blocks, and checkpoints of the meters.
//!
//! One thread writes, one reads for people. Writes that wait while another is being made durable share the next
//! transaction, each in a savepoint of its own; their answers are sent after the commit.

pub(crate) mod audit;
mod audit_file;
mod blocks;
mod checkpoint;
pub(crate) mod column;
mod error;
mod file;
mod job;
mod names;
mod pending;
mod permits;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

pub use audit_file::{AuditFile, LogPlace};
pub use blocks::KeptBlock;
pub use checkpoint::{Checkpoint, IdempotencyRow, MeterRow};
pub use error::DatabaseError;
use file::FileLock;
pub(crate) use job::Refusal;
use job::{Company, Job};
pub use pending::Pending;
pub use permits::{FINISHED_REMEMBERED, FinishedRow, HeldRow, PermitRows};
use tokio::sync::oneshot;
use writer::WriterThread;

/// The most writes in line, and the most reads.
const QUEUE_MAX: usize = 10_000;

/// Under this key the database of a node that shares its store keeps the number of the node.
pub const NODE_KEY: &str = "node";

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// The database, open. Clones are the same one. Closed when the last is dropped, after what was asked of it is done.
#[derive(Clone, Debug)]
pub struct Database(Arc<Open>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    commits: Arc<AtomicU64>,
    writes: Option<SyncSender<Job>>,
    reads: Option<SyncSender<Read>>,
    threads: Vec<JoinHandle<()>>,
    _lock: FileLock,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.writes = None;
        self.reads = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so on its own.
            let _ = thread.join();
        }
    }
}

impl Database {
    /// Opens the file, or makes it. Its folder must be there.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let lock = FileLock::take(path)?;
        let connection = file::open_to_write(path)?;
        let reader = file::open_to_read(path)?;
        let commits = Arc::new(AtomicU64::new(0));
        let (writes, queue) = sync_channel(QUEUE_MAX);
        let (reads, read_queue) = sync_channel(QUEUE_MAX);
        let writer = WriterThread { connection, queue, commits: Arc::clone(&commits) };
        let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
            thread.map_err(|why| DatabaseError::CannotOpen { path: path.to_owned(), why: why.to_string() })
        };
        let threads = vec![
            start("database-write", Box::new(move || writer.run()))?,
            start("database-read", Box::new(move || answer_reads(&reader, &read_queue)))?,
        ];
        let (writes, reads) = (Some(writes), Some(reads));
        Ok(Self(Arc::new(Open { path: path.to_owned(), commits, writes, reads, threads, _lock: lock })))
    }

    /// The most pages of 4 KiB that the file may have. What does not fit is refused as if the disk were full.
    pub fn limit_pages(&self, pages: u32) -> Pending<()> {
        // A pragma is no part of a transaction: nothing to share one for.
        let limit = move |connection: &Connection| -> Result<(), DatabaseError> {
            Ok(connection.pragma_update(None, "max_page_count", pages)?)
        };
        self.ask(Company::Alone, limit, |()| {})
    }

    /// How many transactions were committed since it was opened.
    pub fn commits(&self) -> u64 {
        self.0.commits.load(Ordering::Relaxed)
    }

    /// Does `run` in a transaction, with others. Once it is committed, `seen` is called: for one write at a time, in
    /// the order of the commits. Then the answer is sent.
    pub(crate) fn write<T, E, R, S>(&self, run: R, seen: S) -> Pending<T, E>
    where
        T: Send + Unpin + 'static,
        E: Refusal,
        R: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        S: FnOnce(&T) + Send + 'static,
    {
        self.ask(Company::Shared, run, seen)
    }

    fn ask<T, E, R, S>(&self, company: Company, run: R, seen: S) -> Pending<T, E>
    where
        T: Send + Unpin + 'static,
        E: Refusal,
        R: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        S: FnOnce(&T) + Send + 'static,
    {
        let (job, pending) = job::write(company, run, seen);
        queue(self.0.writes.as_ref(), job, pending)
    }

    /// Reads what is committed, on the thread that reads.
    pub(crate) fn read<T, E, R>(&self, run: R) -> Pending<T, E>
    where
        T: Send + Unpin + 'static,
        E: Refusal,
        R: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let (answer, pending) = oneshot::channel();
        let read = move |connection: &Connection| {
            // Nobody may be waiting any more.
            let _ = answer.send(run(connection));
        };
        queue(self.0.reads.as_ref(), Box::new(read), Pending::asked(pending))
    }

    /// Reads what is committed, on this thread: for what is loaded once.
    pub(crate) fn connect(&self) -> Result<Connection, DatabaseError> {
        file::open_to_read(&self.0.path)
    }
}

/// Puts a job in line, unless the line is too long.
fn queue<J, T, E: Refusal>(line: Option<&SyncSender<J>>, job: J, pending: Pending<T, E>) -> Pending<T, E> {
    match line.map(|line| line.try_send(job)) {
        Some(Ok(())) => pending,
        Some(Err(TrySendError::Full(_))) => Pending::ready(Err(DatabaseError::Overloaded.into())),
        Some(Err(TrySendError::Disconnected(_))) | None => Pending::ready(Err(DatabaseError::Closed.into())),
    }
}

fn answer_reads(connection: &Connection, queue: &Receiver<Read>) {
    while let Ok(read) = queue.recv() {
        read(connection);
    }
}
