//! The thread that writes: what is in line shares a transaction, and is answered after the commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use rusqlite::Connection;

use super::DatabaseError;
use super::job::{Company, Job, Ran};

/// The most writes of one transaction: those that wait for it should not wait for long.
const GROUP_MAX: usize = 500;

pub(super) struct WriterThread {
    pub(super) connection: Connection,
    pub(super) queue: Receiver<Job>,
    pub(super) commits: Arc<AtomicU64>,
}

impl WriterThread {
    /// Until nobody can ask any more, and everything asked is done.
    pub(super) fn run(mut self) {
        let mut next = None;
        while let Some(first) = next.take().or_else(|| self.queue.recv().ok()) {
            let mut group = vec![first];
            next = self.gather(&mut group);
            let end = self.transact(&mut group);
            for job in group {
                job.finish(end.clone());
            }
        }
    }

    /// Lets those in line join the group. Returns the first that may not.
    fn gather(&self, group: &mut Vec<Job>) -> Option<Job> {
        let is_shared = |job: &Job| job.company() == Company::Shared;
        if !group.iter().all(is_shared) {
            return None;
        }
        while group.len() < GROUP_MAX {
            match self.queue.try_recv() {
                Ok(job) if is_shared(&job) => group.push(job),
                Ok(job) => return Some(job),
                Err(_) => break,
            }
        }
        None
    }

    fn transact(&mut self, group: &mut [Job]) -> Result<(), DatabaseError> {
        let end = self.run_and_commit(group);
        if !self.connection.is_autocommit() {
            // If this fails too, the next transaction cannot begin and says so.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        end
    }

    fn run_and_commit(&mut self, group: &mut [Job]) -> Result<(), DatabaseError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        if let [only] = group {
            // The transaction is its savepoint.
            match only.run(&self.connection) {
                Ran::Done => {}
                Ran::Refused(None) => return Ok(()),
                Ran::Refused(Some(error)) => return Err(error),
            }
        } else {
            for job in group {
                self.run_in_savepoint(job)?;
            }
        }
        self.connection.execute_batch("COMMIT")?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// An error here is the end of the whole group.
    fn run_in_savepoint(&self, job: &mut Job) -> Result<(), DatabaseError> {
        self.connection.execute_batch("SAVEPOINT job")?;
        if let Ran::Refused(why) = job.run(&self.connection) {
            // Some errors, a full disk among them, can make SQLite undo the transaction as a whole.
            if self.connection.is_autocommit() {
                return Err(why.unwrap_or(DatabaseError::Closed));
            }
            self.connection.execute_batch("ROLLBACK TO job")?;
        }
        Ok(self.connection.execute_batch("RELEASE job")?)
    }
}
