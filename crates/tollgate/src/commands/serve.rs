//! `tollgate serve`: the listeners, until a signal ends them.

mod data_dir;
mod demo;
mod listeners;
mod logging;
mod policy_file;
mod progress;
mod ready;
mod secrets;
mod signals;
mod store;
mod traces;
mod upkeep;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tollgate_core::file::render;
use tollgate_core::policy::{Document, StoreSettings};
use tollgate_core::time::Nanos;
use tollgate_engine::{Books, Engine};
use tollgate_server::admin::Delivery;
use tollgate_server::listen::Shutdown;

use crate::cli::Serve;
use crate::exit::Exit;
use crate::output;
use data_dir::DataDir;
pub(crate) use data_dir::admin_token_path;
use listeners::Listeners;
use policy_file::{Fixed, Loaded, PolicyFile};
use ready::Addresses;
use secrets::Secrets;

/// How long the end waits for what is left to be announced.
const ANNOUNCING: Duration = Duration::from_secs(2);

pub(super) fn run(args: &Serve) -> anyhow::Result<Exit> {
    logging::start(args.log.as_deref(), args.log_format).context("--log is no filter")?;
    if args.config.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        bail!("a policy that is watched cannot come from standard input: write it to a file");
    }
    let from = args.config.clone().map_or(PolicyFile::Sample, PolicyFile::File);
    let loaded = from.load()?;
    let document = match &loaded.document {
        Ok(document) => {
            let mut document = document.clone();
            args.override_settings(&mut document);
            document
        }
        Err(problems) => {
            output::complain(&render(problems, &loaded.name, &loaded.text));
            return Ok(Exit::ConfigInvalid);
        }
    };
    if let Some(problem) = store::problem(&document.store) {
        output::complain(&format!("error: {problem}\n"));
        return Ok(Exit::ConfigInvalid);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    let served = runtime.block_on(serve(args, &from, &loaded, document));
    // Whatever is left hanging on a connection does not keep the process.
    runtime.shutdown_background();
    served.map(|()| Exit::Done)
}

/// Everything in the order in which it may fail: addresses and the directory before the recovery that may take long.
async fn serve(args: &Serve, from: &PolicyFile, loaded: &Loaded, document: Document) -> anyhow::Result<()> {
    let listeners = Listeners::bind(&document.server)?;
    let data_dir = DataDir::open(&args.data_dir)?;
    let secrets = Secrets::load(data_dir.path())?;
    let server = document.server.clone();
    let store_kind = if document.store == StoreSettings::Embedded { "embedded" } else { "redis" };
    let (engine, recovery) = store::open(&data_dir, &secrets, document).await?;
    let engine = Arc::new(engine);
    let journal = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.keep_journal().await }
    });
    let thresholds = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.keep_thresholds().await }
    });
    policy_file::warn_of_missing(engine.policy().policy());
    let state = policy_file::reload_state(loaded, from, &engine);
    let books = Arc::new(
        Books::open(Arc::clone(&engine), data_dir.path()).context("cannot open the books of usage")?,
    );
    let delivery = Delivery::new(Arc::clone(&engine), secrets.webhook.clone());
    let upkeep = upkeep::Upkeep::start(&books, delivery)?;
    let reload = {
        let (from, engine, state) = (from.clone(), Arc::clone(&engine), Arc::clone(&state));
        // As written, and not as overridden: that is what the file is compared with when it changes.
        let (fixed, tls) = (loaded.document.as_ref().ok().map(Fixed::of), listeners.tls());
        move || {
            policy_file::reload(&from, fixed.as_ref(), &engine, &state);
            tls.reload();
        }
    };
    let (_watch, nudges) = watch::start(from.path(), reload)?;
    let shutdown = Shutdown::new();
    let addresses = listeners.addresses();
    let tracing = traces::Tracing::start(args, &engine)?;
    let traces = tracing.traces.clone();
    let serving = listeners.serve(&books, &secrets, state, &server, &shutdown, traces)?;
    // Whoever is told that it is ready may send a signal at once.
    let signals = signals::Signals::listen()?;
    // Whoever brings plans of their own has no use for keys that nobody asked for.
    let demo_keys = match from {
        PolicyFile::Sample => demo::create(&engine).await?,
        PolicyFile::File(_) => Vec::new(),
    };
    if !demo_keys.is_empty() {
        output::print(&demo::greeting(&demo_keys, addresses, &secrets.admin_token_place))?;
    }
    if let Some(path) = &args.ready_file {
        ready::write(path, addresses)?;
    }
    log_ready(&engine, store_kind, addresses, recovery).await;
    signals.until_the_end(&nudges).await;
    tracing::info!("ending: no new requests, those in flight are finished");
    shutdown.begin();
    serving.ended().await;
    tracing.end().await;
    journal.abort();
    thresholds.abort();
    // What is not announced now is noticed again by the next request of the account.
    let _ = tokio::time::timeout(ANNOUNCING, engine.announce_thresholds()).await;
    upkeep.stop();
    finish(&books)
}

/// What was started, in one line.
async fn log_ready(engine: &Engine, store: &str, addresses: Addresses, recovery: Nanos) {
    let accounts = engine.directory().counts().await.map(|counts| counts.accounts).ok();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        policy = engine.policy().version(),
        store,
        gateway = %addresses.gateway,
        decision = %addresses.decision,
        admin = %addresses.admin,
        resp = addresses.resp.map(tracing::field::display),
        accounts,
        recovery_ms = recovery.as_millis_ceil(),
        "ready"
    );
}

/// Leaves everything on disk, so that the next start has nothing to count again.
fn finish(books: &Books) -> anyhow::Result<()> {
    let engine = books.engine();
    if let Err(error) = engine.save(engine.now()) {
        tracing::warn!("the meters could not be saved: the next start counts them from the spool: {error}");
    }
    engine.spool().flush().context("the spool could not be flushed")?;
    if let Err(error) = books.tend(engine.now()) {
        tracing::warn!("usage could not be counted: the next start goes on with it: {error}");
    }
    if let Err(error) = books.sign(engine.now()) {
        tracing::warn!("the chain of records could not be signed: {error}");
    }
    Ok(())
}
