//! A running node: engine, ledger, policy and background work over one data directory.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use parking_lot::Mutex;
use sluicegate_core::policy::{Document, ServerSettings, StoreSettings};
use sluicegate_engine::{Books, Engine, Progress, Recovered};
use sluicegate_ledger::ledger::OpenLedgerError;
use tokio::runtime::Handle;

use crate::data_dir::DataDir;
use crate::reload::{PolicySource, Reloader};
use crate::secrets::Secrets;
use crate::store::{self, RedisOptions, StoreError};
use crate::upkeep::{BackgroundRuntime, Upkeep};
use crate::watch::{self, Nudge, Watch, WatchError};
use crate::webhook::Delivery;

/// How long a shutdown waits for alerts about quotas to be noted.
const ANNOUNCE_MAX: Duration = Duration::from_secs(2);

/// What a node is opened with.
#[derive(Debug)]
pub struct NodeOptions {
    /// Where it keeps its files.
    pub data_dir: DataDir,
    /// What it hashes and signs with.
    pub secrets: Secrets,
    /// Where the policy comes from.
    pub source: PolicySource,
    /// The policy as it was written.
    pub text: String,
    /// The settings of `server` and `store` as they were written: a reload that changes them warns.
    pub written: (ServerSettings, StoreSettings),
    /// What is in force, after flags and variables.
    pub document: Document,
    /// How a Redis is reached, if the policy names one.
    pub redis: RedisOptions,
}

/// A running node. Background work goes on until [`Node::shutdown`], or until the last reference is dropped.
pub struct Node {
    // The order of the fields is the order of their drops: the lock of the directory is released last.
    watching: Mutex<Option<Watch>>,
    upkeep: Mutex<Option<Upkeep>>,
    books: Arc<Books>,
    reloader: Arc<Reloader>,
    /// Held while it is looked for a key that is made if there is none.
    ensuring_key: tokio::sync::Mutex<()>,
    secrets: Secrets,
    data_dir: DataDir,
}

/// Why a node was not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// It needs a tokio runtime, and this is called outside of one.
    NoRuntime,
    /// The engine.
    Store(StoreError),
    /// The ledger.
    Ledger(OpenLedgerError),
    /// A thread for the background work.
    Thread(io::Error),
}

impl Node {
    /// Opens a node, and starts its background work. Must be called within a tokio runtime.
    pub async fn open(
        options: NodeOptions,
        progress: impl FnMut(Progress),
    ) -> Result<(Arc<Self>, Recovered), NodeError> {
        if Handle::try_current().is_err() {
            return Err(NodeError::NoRuntime);
        }
        let NodeOptions { data_dir, secrets, source, text, written, document, redis } = options;
        let opened = store::open(&data_dir, &secrets, document, redis, progress).await;
        let (engine, recovered) = opened.map_err(NodeError::Store)?;
        let engine = Arc::new(engine);
        // Before anything is decided: the store may confirm a long absence, or be what is implausible.
        engine.ask_store_time().await;
        engine.follow_clock();
        let runtime = BackgroundRuntime::new().map_err(NodeError::Thread)?;
        let books = {
            let handle = runtime.handle();
            let _entered = handle.enter();
            Books::open(Arc::clone(&engine), data_dir.path()).map_err(NodeError::Ledger)?
        };
        let books = Arc::new(books);
        let reloader = Arc::new(Reloader::new(Arc::clone(&engine), source, text, written));
        let delivery = Delivery::new(engine, secrets.webhook.clone());
        let upkeep = Upkeep::start(runtime, &books, delivery).map_err(NodeError::Thread)?;
        let (watching, upkeep) = (Mutex::new(None), Mutex::new(Some(upkeep)));
        let ensuring_key = tokio::sync::Mutex::default();
        Ok((Arc::new(Self { watching, upkeep, books, reloader, ensuring_key, secrets, data_dir }), recovered))
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        self.books.engine()
    }

    /// The ledger by the names that people have for things.
    pub fn books(&self) -> &Arc<Books> {
        &self.books
    }

    /// What exchanges the policy.
    pub fn reloader(&self) -> &Arc<Reloader> {
        &self.reloader
    }

    /// One task at a time looks for a key and makes it if there is none.
    pub async fn lock_ensuring_key(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.ensuring_key.lock().await
    }

    /// What it hashes and signs with.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Where it keeps its files.
    pub fn data_dir(&self) -> &DataDir {
        &self.data_dir
    }

    /// Watches the policy file, if the policy comes from one, and calls `reload` whenever it was saved or a nudge is
    /// sent. A second call replaces the first.
    pub fn watch(&self, reload: impl Fn() + Send + 'static) -> Result<Sender<Nudge>, WatchError> {
        let (watch, nudges) = watch::start(self.reloader.source().path(), reload)?;
        *self.watching.lock() = Some(watch);
        Ok(nudges)
    }

    /// Stops the background work and writes everything to disk, so that the next start has nothing to count again.
    /// Requests that are decided afterwards are still recorded.
    pub async fn shutdown(self: &Arc<Self>) -> io::Result<()> {
        let node = Arc::clone(self);
        // First: the work in the background announces as well, and would keep this from it.
        let _ = tokio::task::spawn_blocking(move || node.stop_upkeep()).await;
        if let Err(error) = self.engine().note_access(self.engine().now(), true).await {
            tracing::warn!("refused sign-ins and give-backs could not be entered into the audit: {error}");
        }
        // What is not announced now is noticed again by the next request of the account.
        let _ = tokio::time::timeout(ANNOUNCE_MAX, self.engine().announce_thresholds()).await;
        let node = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || node.write_all()).await;
        written.unwrap_or(Ok(()))
    }

    /// Ends the background work, if it goes on. Blocking.
    fn stop_upkeep(&self) {
        self.watching.lock().take();
        let upkeep = self.upkeep.lock().take();
        if let Some(upkeep) = upkeep {
            upkeep.stop();
        }
    }

    /// Writes everything to disk. Blocking.
    fn write_all(&self) -> io::Result<()> {
        let (engine, books) = (self.books.engine(), &self.books);
        if let Err(error) = engine.save(engine.now()) {
            tracing::warn!(
                "the meters could not be saved: the next start counts them from the spool: {error}"
            );
        }
        engine.remember_time(engine.now());
        engine.spool().flush()?;
        if let Err(error) = books.tend(engine.now()) {
            tracing::warn!("usage could not be counted: the next start goes on with it: {error}");
        }
        if let Err(error) = books.sign(engine.now()) {
            tracing::warn!("the chain of records could not be signed: {error}");
        }
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop_upkeep();
        if let Err(error) = self.write_all() {
            tracing::error!("the spool could not be flushed: {error}");
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("data_dir", &self.data_dir.path()).finish_non_exhaustive()
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRuntime => f.write_str("there is no tokio runtime here: call this from an async main"),
            Self::Store(error) => error.fmt(f),
            Self::Ledger(error) => write!(f, "cannot open the ledger: {error}"),
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoRuntime => None,
            Self::Store(error) => Some(error),
            Self::Ledger(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}
