//! Opening the engine: over a store in this process, or over one that several nodes share.

use anyhow::Context as _;
use tollgate_core::policy::{Document, StoreSettings};
use tollgate_core::time::{Nanos, Timestamp};
use tollgate_engine::{Clock, Clustered, Embedded, Engine, Progress, Recovered};
use tollgate_ledger::SpoolSettings;
use tollgate_store::redis::{Address, LinkOptions, Password};

use super::data_dir::DataDir;
use super::progress;
use super::secrets::Secrets;
use crate::environment;

/// The engine with its meters as they were when the last process ended, and how long that took.
pub(super) async fn open(
    data_dir: &DataDir,
    secrets: &Secrets,
    document: Document,
) -> anyhow::Result<(Engine, Nanos)> {
    let started = Clock::system(Timestamp::EPOCH).now();
    let mut line = progress::Line::new();
    let show = |progress: Progress| line.show(progress);
    let (dir, secret) = (data_dir.path(), secrets.secret.as_bytes());
    let (proxies, session_secrets) = (document.server.proxies, secrets.sessions.clone());
    let clients_max = document.server.max.clients;
    let opened: anyhow::Result<_> = match &document.store {
        StoreSettings::Embedded => {
            let embedded =
                Embedded { proxies, session_secrets, clients_max, ..Embedded::new(document.policy) };
            embedded.open(dir, secret, show).map_err(Into::into)
        }
        StoreSettings::Redis { url, .. } => {
            let address = Address::parse(url).with_context(|| format!("`{url}`"))?;
            let clustered = Clustered {
                policy: document.policy,
                proxies,
                session_secrets,
                address,
                link: link_options()?,
                spool: SpoolSettings::default(),
                clients_max,
            };
            let opened = clustered.open(dir, secret, show).await;
            opened.with_context(|| format!("cannot use the store {url}"))
        }
    };
    line.end();
    let (engine, recovered) = opened?;
    report(recovered);
    let took = Clock::system(Timestamp::EPOCH).now().since(started);
    Ok((engine, took))
}

/// What is wrong with the address of the store, if something is.
pub(super) fn problem(store: &StoreSettings) -> Option<String> {
    let StoreSettings::Redis { url, .. } = store else { return None };
    Address::parse(url).err().map(|bad| format!("the store {url} is no address: {bad}"))
}

fn link_options() -> anyhow::Result<LinkOptions> {
    Ok(LinkOptions {
        username: environment::secret(environment::REDIS_USERNAME)?,
        password: environment::secret(environment::REDIS_PASSWORD)?.map(Password::new),
        sentinel_password: environment::secret(environment::REDIS_SENTINEL_PASSWORD)?.map(Password::new),
        ..LinkOptions::default()
    })
}

fn report(recovered: Recovered) {
    if recovered.torn > 0 {
        tracing::info!(
            torn = recovered.torn,
            "records that were cut off were left out: they were never answered"
        );
    }
    if recovered.unreadable > 0 {
        tracing::error!(homes = recovered.unreadable, "meters could not be read and start anew");
    }
    tracing::info!(homes = recovered.homes, records = recovered.records, "recovered");
}
