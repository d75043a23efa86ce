//! `sluicegate serve`: the listeners, until a signal ends them.

mod demo;
mod descriptors;
mod listeners;
mod logging;
mod memory;
mod progress;
mod ready;
mod secrets;
mod signals;
mod store;
mod traces;

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use sluicegate_core::file::render;
use sluicegate_core::policy::{Document, StoreSettings};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{Clock, Engine, Progress};
use sluicegate_node::{DataDir, Loaded, Node, NodeOptions, PolicySource, Shutdown};

use crate::cli::Serve;
use crate::exit::Exit;
use crate::output;
use listeners::Listeners;
use ready::Addresses;
use secrets::ServerSecrets;

/// The policy of a server that was given none.
const SAMPLE: &str = include_str!("serve/sample.yaml");

/// What the sample is called where a file would be named.
const SAMPLE_NAME: &str = "<sample policy>";

pub(super) fn run(args: &Serve) -> anyhow::Result<Exit> {
    logging::start(args.log.as_deref(), args.log_format).context("--log is no filter")?;
    if args.config.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        bail!("a policy that is watched cannot come from standard input: write it to a file");
    }
    let source = match &args.config {
        Some(path) => PolicySource::File(path.clone()),
        None => PolicySource::Text { name: SAMPLE_NAME, text: SAMPLE.to_owned() },
    };
    let loaded = source.load().with_context(|| format!("cannot read {}", source.name()))?;
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
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_park(memory::before_park)
        .build()
        .context("cannot start")?;
    let served = runtime.block_on(serve(args, source, loaded, document));
    // Whatever is left hanging on a connection does not keep the process.
    runtime.shutdown_background();
    served.map(|()| Exit::Done)
}

/// Everything in the order in which it may fail: addresses and the directory before the recovery that may take long.
async fn serve(args: &Serve, source: PolicySource, loaded: Loaded, document: Document) -> anyhow::Result<()> {
    let listeners = Listeners::bind(&document.server)?;
    tokio::spawn(memory::watch());
    let data_dir = DataDir::open(&args.data_dir)
        .map_err(|error| anyhow!("{error}; --data-dir names the data directory"))?;
    let secrets = ServerSecrets::load(&data_dir)?;
    let server = document.server.clone();
    let store_kind = if document.store == StoreSettings::Embedded { "embedded" } else { "redis" };
    let is_sample = source.path().is_none();
    let (node, recovery) = open(data_dir, &secrets, source, loaded, document).await?;
    let engine = node.engine();
    let reload = {
        let (reloader, tls) = (Arc::clone(node.reloader()), listeners.tls());
        move || {
            reloader.reload();
            tls.reload();
        }
    };
    let nudges = node.watch(reload).map_err(complete)?;
    let shutdown = Shutdown::new();
    let addresses = listeners.addresses();
    let tracing = traces::Tracing::start(args, engine)?;
    let traces = tracing.traces.clone();
    let serving = listeners.serve(&node, &secrets, &server, &shutdown, traces)?;
    // Before it says that it is ready: a signal may come at once.
    let signals = signals::Signals::listen()?;
    // A policy of one's own needs no demo keys.
    let demo_keys = if is_sample { demo::create(engine).await? } else { Vec::new() };
    if !demo_keys.is_empty() {
        output::print(&demo::greeting(&demo_keys, addresses, &secrets.admin_token_place))?;
    }
    if let Some(path) = &args.ready_file {
        ready::write(path, addresses)?;
    }
    log_ready(engine, store_kind, addresses, recovery).await;
    signals.until_the_end(&nudges).await;
    tracing::info!("ending: no new requests, those in flight are finished");
    shutdown.begin();
    serving.ended().await;
    tracing.end().await;
    node.shutdown().await.context("the spool could not be flushed")
}

/// An error whose message tells its causes: they are not to be told again.
fn complete(error: impl std::error::Error) -> anyhow::Error {
    anyhow!("{error}")
}

/// The node with its meters as they were when the last process ended, and how long opening it took.
async fn open(
    data_dir: DataDir,
    secrets: &ServerSecrets,
    source: PolicySource,
    loaded: Loaded,
    document: Document,
) -> anyhow::Result<(Arc<Node>, Nanos)> {
    let started = Clock::system(Timestamp::EPOCH).now();
    let mut line = progress::Line::new();
    // As written, and not as overridden: that is what the file is compared with when it changes.
    let written = match loaded.document {
        Ok(written) => (written.server, written.store),
        Err(_) => (document.server.clone(), document.store.clone()),
    };
    let options = NodeOptions {
        data_dir,
        secrets: secrets.node.clone(),
        source,
        text: loaded.text,
        written,
        document,
        redis: store::redis_options()?,
    };
    let opened = Node::open(options, |progress: Progress| line.show(progress)).await;
    line.end();
    let (node, recovered) = opened.map_err(complete)?;
    store::report(recovered);
    Ok((node, Clock::system(Timestamp::EPOCH).now().since(started)))
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
