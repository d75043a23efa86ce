//! An engine in a directory that keeps itself in order, for a process that does nothing else with it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tollgate_store::directory::{
    AccountId, DisplayName, FieldError, NewAccount, NewKey, Scopes, WriteError, Writer,
};
use tollgate_store::key_text::{KeyEnv, SecretText};

use super::{Embedded, EmbeddedError, secret};
use crate::books::Books;
use crate::engine::Engine;

/// How often the clock is set by the wall's, and long requests keep their slots.
const BEAT: Duration = Duration::from_secs(1);
/// How often records are counted, and hours closed.
const TEND_EVERY: Duration = Duration::from_secs(2);
/// How often meters are saved, in rounds of the above.
const SAVE_EVERY: u64 = 5;
/// How often idle meters are forgotten, and the records so far signed.
const SIGN_EVERY: u64 = 30;
/// How often old records are removed.
const PRUNE_EVERY: u64 = 150;

/// An engine, and the threads that keep it and its books in order until this is dropped. Keep it for as long as
/// requests are decided on.
pub struct Kept {
    books: Arc<Books>,
    threads: Vec<(Sender<()>, JoinHandle<()>)>,
}

impl Embedded {
    /// Opens the engine whose accounts, keys and usage are in `dir`, which is made if it is not there, and keeps it in
    /// order. What is hashed is hashed with the secret in `dir`, which is made as well: `tollgate serve --data-dir` can
    /// go on with such a directory. It is called within tokio's runtime.
    pub fn keep(self, dir: &Path) -> Result<Kept, EmbeddedError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(EmbeddedError::NoRuntime);
        }
        secret::make_directory(dir).map_err(EmbeddedError::Files)?;
        let secret = secret::kept(dir)?;
        let (engine, _) = self.open(dir, secret.as_bytes(), |_| ())?;
        let books = Books::open(Arc::new(engine), dir).map_err(EmbeddedError::Books)?;
        let mut kept = Kept { books: Arc::new(books), threads: Vec::new() };
        kept.spawn("tollgate-beat", BEAT, |books, _| beat(books.engine()))?;
        kept.spawn("tollgate-upkeep", TEND_EVERY, upkeep)?;
        Ok(kept)
    }
}

impl Kept {
    /// The engine.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(self.books.engine())
    }

    /// The books of what was used.
    pub fn books(&self) -> &Arc<Books> {
        &self.books
    }

    /// A new key of the account with this id. If there is no such account yet, it is made, in this tier of the policy.
    pub async fn key_for(&self, account: &str, tier: &str) -> Result<SecretText, WriteError> {
        let (engine, by) = (self.books.engine(), Writer { who: "embedded".to_owned(), now: self.now() });
        let id = AccountId::new(account).map_err(WriteError::Field)?;
        let policy = engine.policy();
        let tier = policy.policy().tiers.get(tier).ok_or_else(|| unknown_tier(tier))?.name.clone();
        let name = DisplayName::new(account).map_err(WriteError::Field)?;
        let new = NewAccount { id: Some(id), name: name.clone(), tier, billing_day: None, timezone: None };
        match engine.directory().create_account(new, &by).await {
            Ok(_) | Err(WriteError::Exists(_)) => {}
            Err(error) => return Err(error),
        }
        let scopes = Scopes::new(["*"]).map_err(WriteError::Field)?;
        let new = NewKey { name, env: KeyEnv::Live, scopes, expires_at: None };
        engine.directory().create_key(account, new, &by).await.map(|(_, key)| key)
    }

    fn now(&self) -> tollgate_core::time::Timestamp {
        self.books.engine().now()
    }

    /// Does something every so often, counting from 1.
    fn spawn(
        &mut self,
        name: &str,
        every: Duration,
        work: impl Fn(&Books, u64) + Send + 'static,
    ) -> Result<(), EmbeddedError> {
        let (books, (stop, stopped)) = (Arc::clone(&self.books), channel());
        let run = move || {
            for round in 1.. {
                if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                work(&books, round);
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        self.threads.push((stop, thread.map_err(EmbeddedError::Files)?));
        Ok(())
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// Leaves everything on disk, so that the next start has nothing to count again.
impl Drop for Kept {
    fn drop(&mut self) {
        for (stop, thread) in self.threads.drain(..) {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("an upkeep thread has panicked");
            }
        }
        let (engine, now) = (self.books.engine(), self.now());
        warn("meters could not be saved, and are counted from the spool", engine.save(now));
        warn("the spool could not be flushed", engine.spool().flush());
        warn("usage could not be counted: the next start goes on with it", self.books.tend(now));
        warn("the chain of records could not be signed", self.books.sign(now));
    }
}

fn beat(engine: &Engine) {
    engine.clock().follow();
    engine.renew(engine.now());
    engine.beat(engine.now());
}

fn upkeep(books: &Books, round: u64) {
    let (engine, now) = (books.engine(), books.engine().now());
    warn("usage could not be counted, and is tried again", books.tend(now));
    if round.is_multiple_of(SAVE_EVERY) {
        warn("meters could not be saved, and will be counted from the spool", engine.save(now));
    }
    if round.is_multiple_of(SIGN_EVERY) {
        engine.sweep(now);
        warn("the chain of records could not be signed, and is tried again", books.sign(now));
    }
    if round.is_multiple_of(PRUNE_EVERY) {
        warn("old records could not be removed, and are tried again", books.prune(now));
    }
}

fn unknown_tier(tier: &str) -> WriteError {
    WriteError::Field(FieldError { field: "tier", problem: format!("{tier} is not defined in the policy") })
}

fn warn<T>(what: &str, done: Result<T, impl fmt::Display>) {
    if let Err(error) = done {
        tracing::warn!("{what}: {error}");
    }
}
