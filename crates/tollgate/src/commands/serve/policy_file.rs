//! The policy in force: from a file that is watched, or the sample.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_core::file::{self, Problem, render};
use tollgate_core::policy::{Document, Policy, ServerSettings, StoreSettings};
use tollgate_core::time::Timestamp;
use tollgate_engine::pulse::{Change, Changed};
use tollgate_engine::{Engine, Rejected};
use tollgate_server::admin::{LoadedPolicy, RejectedPolicy, ReloadState, SigningSecret};
use tollgate_server::secret_at;

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
            return reject(engine, state, Rejection::of(&loaded_name(from), &format!("{error:#}")), now);
        }
    };
    let last = state.last();
    if *last.loaded.text == *loaded.text {
        // What was wrong with the file in between is mended by having it as it was.
        if last.rejected.is_some() {
            tracing::info!(version = last.loaded.version, "the policy file is again as it was loaded");
            state.loaded(last.loaded);
            engine.note_reload(None);
        }
        return;
    }
    let document = match loaded.document {
        Ok(document) => document,
        Err(problems) => {
            let all = render(&problems, &loaded.name, &loaded.text);
            return reject(engine, state, Rejection { file: &loaded.name, problems: &problems, all }, now);
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
            warn_of_missing(snapshot.policy());
            tracing::info!(version = snapshot.version(), "policy reloaded from {}", loaded.name);
            state.loaded(loaded_policy(snapshot.version(), from, loaded.text, now));
            engine.note_reload(None);
        }
        Err(error) => reject(engine, state, Rejection::of(&loaded.name, &error.to_string()), now),
    }
}

/// What is wrong with a policy.
struct Rejection<'r> {
    file: &'r str,
    /// Where in the file; none where it is not about a place in it.
    problems: &'r [Problem],
    /// All of it, as people read it.
    all: String,
}

impl<'r> Rejection<'r> {
    /// Something that is not about a place in the file.
    fn of(file: &'r str, what: &str) -> Self {
        Self { file, problems: &[], all: what.to_owned() }
    }

    /// The first problem, in one line.
    fn first(&self) -> String {
        match self.problems.first() {
            Some(Problem { place, message, .. }) => {
                format!("{}:{}:{}: {message}", self.file, place.line, place.column)
            }
            None => self.all.lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Says what is wrong, once for each content of the file: it is looked at again and again.
fn reject(engine: &Engine, state: &ReloadState, rejection: Rejection<'_>, at: Timestamp) {
    if state.last().rejected.is_some_and(|rejected| *rejected.problems == *rejection.all) {
        return;
    }
    let (file, count) = (rejection.file, rejection.problems.len().max(1));
    let places: Vec<_> = rejection.problems.iter().map(|problem| problem.place).collect();
    tracing::error!(
        file,
        line = places.first().map(|place| place.line),
        column = places.first().map(|place| place.column),
        problems = count,
        "the policy was not reloaded, the one before stays in force: {}",
        rejection.first()
    );
    for Problem { place, message, .. } in rejection.problems.iter().skip(1) {
        tracing::error!(
            file,
            line = place.line,
            column = place.column,
            "also wrong with the policy: {message}"
        );
    }
    let text = "A policy was rejected: the one before stays in force.".to_owned();
    engine.pulse().tell(Change { at, what: Changed::Reload, text });
    let problems = u64::try_from(count).unwrap_or(u64::MAX);
    engine.note_reload(Some(Rejected { problems, first: rejection.first() }));
    state.rejected(RejectedPolicy { at, count, problems: rejection.all.into() });
}

/// What the policy is called where a file would be named.
fn loaded_name(from: &PolicyFile) -> String {
    from.path().map_or_else(|| SAMPLE_NAME.to_owned(), |path| path.display().to_string())
}

fn loaded_policy(version: u64, from: &PolicyFile, text: String, at: Timestamp) -> LoadedPolicy {
    let path = from.path().map(|path| path.display().to_string());
    LoadedPolicy { version, path, text: text.into(), at }
}

/// Says what a policy needs and does not find here. It is looked for again whenever it is needed.
pub(super) fn warn_of_missing(policy: &Policy) {
    let challenge = policy.identity.challenge.as_ref();
    if let Some(Err(error)) = challenge.map(|challenge| secret_at(&challenge.secret)) {
        tracing::warn!("no sessions can be issued: {error}");
    }
    let alerts = &policy.alerts;
    if let Some(source) = alerts.secret.as_ref().filter(|_| alerts.webhook.is_some()) {
        let usable = secret_at(source).map_err(|error| error.to_string());
        let usable = usable.and_then(|text| SigningSecret::parse(&text).map_err(|error| error.to_string()));
        if let Err(error) = usable {
            tracing::warn!("no alerts can be delivered: {error}");
        }
    }
}

/// The state of reloads, with what the server started with.
pub(super) fn reload_state(loaded: &Loaded, from: &PolicyFile, engine: &Engine) -> Arc<ReloadState> {
    let version = engine.policy().version();
    Arc::new(ReloadState::new(loaded_policy(version, from, loaded.text.clone(), engine.now())))
}
