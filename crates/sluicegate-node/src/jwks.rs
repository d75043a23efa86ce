//! The keys of an identity provider, kept up to date in the background: from a file or a URL, on time and when a token
//! names a key that is not known. While they cannot be had, the last ones stay in use, for as long as the policy says.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::policy::JwksSource;
use sluicegate_engine::Engine;
use sluicegate_engine::jwt::KeySet;
use tokio::time::Instant;

use crate::net;

/// How often it is looked whether the policy names another source.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often keys are fetched from a URL: a key that was withdrawn verifies for so long at the most.
const FETCH_EVERY: Duration = Duration::from_secs(300);
/// How often a file is read.
const READ_EVERY: Duration = Duration::from_secs(5);
/// The least time between two fetches, whatever tokens name: nobody makes this node flood its provider.
const FETCH_LEAST: Duration = Duration::from_secs(5);
/// How long an answer may take.
const FETCH_WAIT: Duration = Duration::from_secs(5);

/// When what was last tried, and whether that failed.
struct Tried {
    source: JwksSource,
    at: Instant,
    failed: bool,
}

/// Keeps the keys up to date, for as long as it is polled.
pub(crate) async fn keep(engine: Arc<Engine>) {
    let mut tried: Option<Tried> = None;
    let mut is_wanted = false;
    loop {
        let source = engine.policy().policy().identity.jwt.as_ref().map(|jwt| jwt.jwks.clone());
        match source {
            None => tried = None,
            Some(source) if is_due(tried.as_ref(), &source, is_wanted) => {
                let was_failing = tried.as_ref().is_some_and(|tried| tried.failed && tried.source == source);
                let failed = !fetch(&engine, &source, was_failing).await;
                (tried, is_wanted) = (Some(Tried { source, at: Instant::now(), failed }), false);
            }
            Some(_) => {}
        }
        if tokio::time::timeout(LOOK_EVERY, engine.tokens().wanted()).await.is_ok() {
            is_wanted = true;
            // Tokens that name unknown keys do not turn this into a busy loop.
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn is_due(tried: Option<&Tried>, source: &JwksSource, is_wanted: bool) -> bool {
    let Some(tried) = tried.filter(|tried| tried.source == *source) else { return true };
    let since = tried.at.elapsed();
    let every = match source {
        JwksSource::File(_) => READ_EVERY,
        JwksSource::Url(_) => FETCH_EVERY,
    };
    since >= every || ((is_wanted || tried.failed) && since >= FETCH_LEAST)
}

/// Whether the keys were fetched and put into use.
async fn fetch(engine: &Engine, source: &JwksSource, was_failing: bool) -> bool {
    let now = engine.now();
    let keys = match source {
        JwksSource::File(path) => read_in_background(path).await,
        JwksSource::Url(url) => match url.as_str().parse() {
            Ok(uri) => net::get(&uri, KeySet::BYTES_MAX, FETCH_WAIT).await.map_err(|error| error.to_string()),
            Err(_) => Err("the URL cannot be read".to_owned()),
        }
        .map(Vec::from),
    };
    let keys = keys.and_then(|bytes| KeySet::parse(&bytes).map_err(|error| error.to_string()));
    match keys {
        Ok(keys) => {
            engine.tokens().install(source.clone(), keys, now);
            if was_failing {
                tracing::info!("the keys of `identity.jwt` were fetched again");
            }
            true
        }
        Err(error) => {
            if !was_failing {
                tracing::warn!(
                    "the keys of `identity.jwt` could not be fetched, the last ones stay in use: {error}"
                );
            }
            false
        }
    }
}

async fn read_in_background(path: &Path) -> Result<Vec<u8>, String> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || read(&path)).await;
    read.map_err(|_| "the program is ending".to_owned())?.map_err(|error| error.to_string())
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = KeySet::BYTES_MAX as u64 + 1;
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
