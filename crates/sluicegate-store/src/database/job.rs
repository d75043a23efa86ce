//! What is asked of the threads that have the connections.

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{DatabaseError, Pending};

/// An error that may be the database's own.
pub(crate) trait Refusal: From<DatabaseError> + Send + Unpin + 'static {
    /// What the database says, if it is the database that refused.
    fn database(&self) -> Option<&DatabaseError>;
}

impl Refusal for DatabaseError {
    fn database(&self) -> Option<&DatabaseError> {
        Some(self)
    }
}

/// With whom a write may share a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Company {
    /// With any other that may.
    Shared,
    /// With none: it is large, and a savepoint would keep a copy of every page it changes.
    Alone,
}

/// What a write came to, before the commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ran {
    /// To be committed.
    Done,
    /// To be undone; with what the database said, if it was the database that refused.
    Refused(Option<DatabaseError>),
}

/// A write in line.
pub(super) trait Work: Send {
    fn company(&self) -> Company;

    /// Does it, within a transaction.
    fn run(&mut self, connection: &Connection) -> Ran;

    /// Makes it seen and answers, once its transaction has ended.
    fn finish(self: Box<Self>, end: Result<(), DatabaseError>);
}

pub(super) type Job = Box<dyn Work>;

/// A write: `run` in the transaction, `seen` right after the commit, in the order of commits.
struct Write<T, E, R, S> {
    company: Company,
    run: Option<R>,
    seen: S,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

pub(super) fn write<T, E, R, S>(company: Company, run: R, seen: S) -> (Job, Pending<T, E>)
where
    T: Send + Unpin + 'static,
    E: Refusal,
    R: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    S: FnOnce(&T) + Send + 'static,
{
    let (answer, pending) = oneshot::channel();
    (Box::new(Write { company, run: Some(run), seen, outcome: None, answer }), Pending::asked(pending))
}

impl<T, E, R, S> Work for Write<T, E, R, S>
where
    T: Send,
    E: Refusal,
    R: FnOnce(&Connection) -> Result<T, E> + Send,
    S: FnOnce(&T) + Send,
{
    fn company(&self) -> Company {
        self.company
    }

    fn run(&mut self, connection: &Connection) -> Ran {
        let outcome = match self.run.take() {
            Some(run) => run(connection),
            None => Err(DatabaseError::Closed.into()),
        };
        let ran = match &outcome {
            Ok(_) => Ran::Done,
            Err(error) => Ran::Refused(error.database().cloned()),
        };
        self.outcome = Some(outcome);
        ran
    }

    fn finish(self: Box<Self>, end: Result<(), DatabaseError>) {
        let answer = match (end, self.outcome) {
            (Ok(()), Some(Ok(value))) => {
                (self.seen)(&value);
                Ok(value)
            }
            (Ok(()), Some(Err(error))) => Err(error),
            (Ok(()), None) => Err(DatabaseError::Closed.into()),
            // A refusal may have gone by what was never committed: the end of the transaction is the answer.
            (Err(error), _) => Err(error.into()),
        };
        // Nobody may be waiting any more.
        let _ = self.answer.send(answer);
    }
}
