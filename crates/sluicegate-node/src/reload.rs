//! The policy in force: read from a file or given as text, checked, and exchanged as a whole.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluicegate_core::file::{self, FILE_BYTES_MAX, Problem, render};
use sluicegate_core::policy::{Document, Policy, ServerSettings, StoreSettings};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::pulse::{Change, Changed};
use sluicegate_engine::{Engine, Rejected};

use crate::reload_state::{LoadedPolicy, RejectedPolicy, ReloadState};
use crate::secret_source::secret_at;
use crate::unsupported;
use crate::webhook::SigningSecret;

/// Where the policy comes from.
#[derive(Clone, Debug)]
pub enum PolicySource {
    /// A file, which may be watched.
    File(PathBuf),
    /// A text, under the name that messages call it.
    Text {
        /// Such as `<sample policy>`.
        name: &'static str,
        /// The policy.
        text: String,
    },
}

/// A policy as it was read, and what it means.
#[derive(Debug)]
pub struct Loaded {
    /// What messages call it.
    pub name: String,
    /// What was read, as far as it is text.
    pub text: String,
    /// What it means, or every problem with it.
    pub document: Result<Document, Vec<Problem>>,
}

/// Why a policy was not put in force: every problem, with its line and a caret.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicyRejected(pub String);

impl fmt::Display for PolicyRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

/// As it is displayed, so that a `main` that returns it shows the line and the caret.
impl fmt::Debug for PolicyRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for PolicyRejected {}

impl PolicySource {
    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Text { .. } => None,
        }
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Text { name, .. } => (*name).to_owned(),
        }
    }

    /// Reads it.
    pub fn load(&self) -> io::Result<Loaded> {
        match self {
            Self::File(path) => Ok(Loaded::of(self.name(), &read_head(File::open(path)?)?)),
            Self::Text { text, .. } => Ok(Loaded::of(self.name(), text.as_bytes())),
        }
    }
}

impl Loaded {
    fn of(name: String, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        Self { name, text, document: file::read(bytes) }
    }

    /// What it means, or every problem as people read them.
    pub fn into_document(self) -> Result<Document, PolicyRejected> {
        let Self { name, text, document } = self;
        let document = document.map_err(|problems| PolicyRejected(render(&problems, &name, &text)))?;
        match unsupported::settings(&document) {
            missing if missing.is_empty() => Ok(document),
            missing => Err(PolicyRejected(missing.join("\n"))),
        }
    }
}

/// The first bytes of a policy, one more than it may have: enough to see that it is too large.
pub fn read_head(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Exchanges the policy of an engine.
#[derive(Debug)]
pub struct Reloader {
    engine: Arc<Engine>,
    source: PolicySource,
    /// As written at the start: what may not change while the process runs.
    server: ServerSettings,
    store: StoreSettings,
    state: Arc<ReloadState>,
}

impl Reloader {
    /// For an engine that was opened with this document of this source.
    pub(crate) fn new(
        engine: Arc<Engine>,
        source: PolicySource,
        text: String,
        (server, store): (ServerSettings, StoreSettings),
    ) -> Self {
        warn_of_missing_secrets(engine.policy().policy());
        log_warnings(&source.name(), &text);
        let first = loaded_policy(engine.policy().version(), &source, text, engine.now());
        Self { engine, source, server, store, state: Arc::new(ReloadState::new(first)) }
    }

    /// What was loaded and rejected last.
    pub fn state(&self) -> &Arc<ReloadState> {
        &self.state
    }

    /// Where the policy comes from.
    pub fn source(&self) -> &PolicySource {
        &self.source
    }

    /// Reads the source again, and puts what it says in force. What is wrong with it is logged, and leaves the policy
    /// in force as it is.
    pub fn reload(&self) {
        let now = self.engine.now();
        match self.source.load() {
            Ok(loaded) => drop(self.apply(loaded, now)),
            Err(error) => {
                let name = self.source.name();
                let why = format!("cannot read {name}: {error}");
                self.reject(&Rejection::of(&name, &why), now);
            }
        }
    }

    /// Puts this policy in force. Returns its version, or every problem with it.
    pub fn replace(&self, text: &str) -> Result<u64, PolicyRejected> {
        self.apply(Loaded::of("policy".to_owned(), text.as_bytes()), self.engine.now())
    }

    fn apply(&self, loaded: Loaded, now: Timestamp) -> Result<u64, PolicyRejected> {
        let last = self.state.last();
        if *last.loaded.text == *loaded.text {
            // The file is as it was loaded: what was wrong with it in between is over.
            if last.rejected.is_some() {
                tracing::info!(version = last.loaded.version, "the policy file is again as it was loaded");
                self.state.loaded(last.loaded.clone());
                self.engine.note_reload(None);
            }
            return Ok(last.loaded.version);
        }
        let Loaded { name, text, document } = loaded;
        let document = match document {
            Ok(document) => document,
            Err(problems) => {
                let all = render(&problems, &name, &text);
                return Err(self.reject(&Rejection { file: &name, problems: &problems, all }, now));
            }
        };
        let missing = unsupported::policy(&document.policy);
        if !missing.is_empty() {
            return Err(self.reject(&Rejection::of(&name, &missing.join("\n")), now));
        }
        if document.server != self.server || document.store != self.store {
            tracing::warn!(
                "`server` and `store` are read at the start only: restart to apply what has changed there"
            );
        }
        match self.engine.reload(document.policy) {
            Ok(snapshot) => {
                warn_of_missing_secrets(snapshot.policy());
                log_warnings(&name, &text);
                tracing::info!(version = snapshot.version(), "policy reloaded from {name}");
                self.state.loaded(loaded_policy(snapshot.version(), &self.source, text, now));
                self.engine.note_reload(None);
                Ok(snapshot.version())
            }
            Err(error) => Err(self.reject(&Rejection::of(&name, &error.to_string()), now)),
        }
    }

    /// Logs the problems, once for each content of the file: it is read again and again.
    fn reject(&self, rejection: &Rejection<'_>, at: Timestamp) -> PolicyRejected {
        let rejected = PolicyRejected(rejection.all.clone());
        if self.state.last().rejected.is_some_and(|rejected| *rejected.problems == *rejection.all) {
            return rejected;
        }
        rejection.log();
        let text = "A policy was rejected: the one before stays in force.".to_owned();
        self.engine.pulse().tell(Change { at, what: Changed::Reload, text });
        let count = rejection.problems.len().max(1);
        let problems = u64::try_from(count).unwrap_or(u64::MAX);
        self.engine.note_reload(Some(Rejected { problems, first: rejection.first() }));
        self.state.rejected(RejectedPolicy { at, count, problems: rejection.all.clone().into() });
        rejected
    }
}

/// What is wrong with a policy.
struct Rejection<'r> {
    file: &'r str,
    /// Where in the file; none where it is not about a line of it.
    problems: &'r [Problem],
    /// All of it, as people read it.
    all: String,
}

impl<'r> Rejection<'r> {
    /// A problem that is not about a line of the file.
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

    fn log(&self) {
        let (file, first) = (self.file, self.problems.first().map(|problem| problem.place));
        tracing::error!(
            file,
            line = first.map(|place| place.line),
            column = first.map(|place| place.column),
            problems = self.problems.len().max(1),
            "the policy was not reloaded, the one before stays in force: {}",
            self.first()
        );
        for Problem { place, message, .. } in self.problems.iter().skip(1) {
            tracing::error!(
                file,
                line = place.line,
                column = place.column,
                "also wrong with the policy: {message}"
            );
        }
    }
}

fn loaded_policy(version: u64, source: &PolicySource, text: String, at: Timestamp) -> LoadedPolicy {
    let path = source.path().map(|path| path.display().to_string());
    LoadedPolicy { version, path, text: text.into(), at }
}

/// Logs what is probably a mistake in a policy that is in force.
fn log_warnings(file: &str, text: &str) {
    let Ok((_, warnings)) = file::read_with_warnings(text.as_bytes()) else { return };
    for Problem { place, message, .. } in warnings {
        tracing::warn!(file, line = place.line, column = place.column, "policy: {message}");
    }
}

/// Warns of secrets that a policy names and that are not there. They are looked for again whenever they are needed.
fn warn_of_missing_secrets(policy: &Policy) {
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
