//! One of the APIs of a running server, and what a person is told when it does not do what was asked.

use std::fmt;

use anyhow::anyhow;
use http::{HeaderValue, Method};
use serde_json::Value;

use crate::http_client::{self, Call, CallError, Content, Download, Endpoint, Patience};

/// An API of a running server.
pub(crate) struct Service {
    endpoint: Endpoint,
    /// The option that names another.
    option: &'static str,
}

/// What the server answered in place of what was asked for.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    document: Value,
    hint: Option<String>,
}

impl Service {
    /// The API at this place, which this option names.
    pub(crate) fn new(endpoint: Endpoint, option: &'static str) -> Self {
        Self { endpoint, option }
    }

    /// Asks, and gives what was answered, null where that is nothing. Whatever is no success is an error.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        token: Option<&HeaderValue>,
        body: Content<'_>,
        patience: Patience,
    ) -> anyhow::Result<Value> {
        let call = Call { method, path, token, body, patience };
        let answer = http_client::call(&self.endpoint, &call).map_err(|error| self.explain(&error))?;
        if answer.status.is_success() {
            return Ok(answer.body);
        }
        Err(Refusal { status: answer.status.as_u16(), document: answer.body, hint: None }.into())
    }

    /// Asks for a file, and hands it over piece by piece.
    pub(crate) fn download(
        &self,
        path: &str,
        token: Option<&HeaderValue>,
        each: impl FnMut(Download<'_>) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let (body, patience) = (Content::Nothing, Patience::Long);
        let call = Call { method: Method::GET, path, token, body, patience };
        let answer =
            http_client::download(&self.endpoint, &call, each).map_err(|error| self.explain(&error))?;
        match answer {
            None => Ok(()),
            Some(answer) => {
                Err(Refusal { status: answer.status.as_u16(), document: answer.body, hint: None }.into())
            }
        }
    }

    fn explain(&self, error: &CallError) -> anyhow::Error {
        let Self { endpoint, option } = self;
        match error {
            CallError::Unreachable(_) | CallError::Late(_) => anyhow!(
                "cannot reach {endpoint}: {error}: is `sluicegate serve` running? Another address: {option}"
            ),
            CallError::NotJson(_) | CallError::Broken(_) => {
                anyhow!("{endpoint} does not answer as Sluicegate does: {error}. Another address: {option}")
            }
            CallError::TooLarge | CallError::Unwritable(_) | CallError::Unwritten(_) => {
                anyhow!("{endpoint}: {error}")
            }
        }
    }
}

/// Says what a refusal is about. One of the token, and no answer at all, are about nothing but themselves.
pub(crate) fn about<T>(answer: anyhow::Result<T>, what: &str, id: &str) -> anyhow::Result<T> {
    answer.map_err(|error| match error.downcast_ref::<Refusal>() {
        Some(refusal) if refusal.status != 401 => error.context(format!("{what} {id}")),
        _ => error,
    })
}

impl Refusal {
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// What was answered, as it is.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    /// Adds what the server cannot know.
    pub(crate) fn hint(mut self, hint: String) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let member = |name: &str| self.document.get(name).and_then(Value::as_str);
        f.write_str(member("detail").unwrap_or("The server says no, and not why."))?;
        write!(f, " ({}", self.status)?;
        if let Some(error) = member("error") {
            write!(f, " {error}")?;
        }
        if let Some(field) = member("field") {
            write!(f, ", field {field}")?;
        }
        f.write_str(")")?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
