//! The policy in force: from a file that is watched, or the sample.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_core::file::{self, Problem, render};
use tollgate_core::policy::{Document, Policy, ServerSettings, StoreSettings};
use tollgate_core::time::Timestamp;
use tollgate_engine::Engine;
use tollgate_engine::pulse::{Change, Changed};
use tollgate_server::admin::{LoadedPolicy, RejectedPolicy, ReloadState};
use tollgate_server::decision::challenge_secret;

use crate::source::Source;

/// The policy of a server that was given none.
const SAMPLE: &str = include_str!("sample.yaml");

/// What the sample is called where a file would be named.
const SAMPLE_NAME: &str = "<sample policy>";

/// Where the policy comes from.
#[derive(Clone, Debug)]
pub(super) enum PolicyFile {
    Sample,
    File(PathBuf),
}

/// A policy that was read.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) document: Result<Document, Vec<Problem>>,
}

impl PolicyFile {
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Sample => None,
            Self::File(path) => Some(path),
        }
    }

    pub(super) fn load(&self) -> anyhow::Result<Loaded> {
        match self {
            Self::Sample => Ok(Loaded {
                name: SAMPLE_NAME.to_owned(),
                text: SAMPLE.to_owned(),
                document: file::read(SAMPLE.as_bytes()),
            }),
            Self::File(path) => {
                let source = Source::open(path)?;
                let (name, text) = (source.name().to_owned(), source.text().into_owned());
                Ok(Loaded { name, text, document: source.document() })
            }
        }
    }
}

/// What may not change while a server runs: a reload that changes it is told so.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) server: ServerSettings,
    pub(super) store: StoreSettings,
}

impl Fixed {
    /// What a file says about it.
    pub(super) fn of(document: &Document) -> Self {
        Self { server: document.server.clone(), store: document.store.clone() }
    }
}

/// Reads the policy again and puts it into force, or says why not and leaves everything as it is.
pub(super) fn reload(from: &PolicyFile, fixed: Option<&Fixed>, engine: &Engine, state: &ReloadState) {
    let now = engine.now();
    let loaded = match from.load() {
        Ok(loaded) => loaded,
        Err(error) => {
            return reject(engine, state, 1, &format!("{error:#}"), now);
        }
    };
    let last = state.last();
    if *last.loaded.text == *loaded.text {
        // What was wrong with the file in between is mended by having it as it was.
        if last.rejected.is_some() {
            state.loaded(last.loaded);
        }
        return;
    }
    let document = match loaded.document {
        Ok(document) => document,
        Err(problems) => {
            let all = render(&problems, &loaded.name, &loaded.text);
            return reject(engine, state, problems.len(), &all, now);
        }
    };
    let changed = |fixed: &Fixed| document.server != fixed.server || document.store != fixed.store;
    if fixed.is_some_and(changed) {
        tracing::warn!(
            "`server` and `store` are read at the start only: restart to apply what has changed there"
        );
    }
    match engine.reload(document.policy) {
        Ok(snapshot) => {
            warn_of_unenforced(snapshot.policy());
            warn_of_missing(snapshot.policy());
            tracing::info!(version = snapshot.version(), "policy reloaded from {}", loaded.name);
            state.loaded(loaded_policy(snapshot.version(), from, loaded.text, now));
        }
        Err(error) => reject(engine, state, 1, &error.to_string(), now),
    }
}

/// Says what is wrong, once for each content of the file: it is looked at again and again.
fn reject(engine: &Engine, state: &ReloadState, count: usize, problems: &str, at: Timestamp) {
    if state.last().rejected.is_some_and(|rejected| *rejected.problems == *problems) {
        return;
    }
    tracing::error!("the policy was not reloaded, the one before stays in force:\n{problems}");
    let text = "A policy was rejected: the one before stays in force.".to_owned();
    engine.pulse().tell(Change { at, what: Changed::Reload, text });
    state.rejected(RejectedPolicy { at, count, problems: problems.into() });
}

fn loaded_policy(version: u64, from: &PolicyFile, text: String, at: Timestamp) -> LoadedPolicy {
    let path = from.path().map(|path| path.display().to_string());
    LoadedPolicy { version, path, text: text.into(), at }
}

/// Says which parts of a policy are read, checked and kept, and have no effect in this version.
pub(super) fn warn_of_unenforced(policy: &Policy) {
    let sections = [("alerts", policy.alerts.webhook.is_some())];
    for (section, _) in sections.iter().filter(|(_, is_there)| *is_there) {
        tracing::warn!("this version reads `{section}` and does not act on it");
    }
}

/// Says what a policy needs and does not find here. It is looked for again whenever it is needed.
pub(super) fn warn_of_missing(policy: &Policy) {
    let challenge = policy.identity.challenge.as_ref();
    if let Some(Err(error)) = challenge.map(|challenge| challenge_secret(&challenge.secret)) {
        tracing::warn!("no sessions can be issued: {error}");
    }
}

/// The state of reloads, with what the server started with.
pub(super) fn reload_state(loaded: &Loaded, from: &PolicyFile, engine: &Engine) -> Arc<ReloadState> {
    let version = engine.policy().version();
    Arc::new(ReloadState::new(loaded_policy(version, from, loaded.text.clone(), engine.now())))
}
