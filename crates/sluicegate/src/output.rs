//! Writing to the terminal, or to whatever stands in its place.

use std::io::{self, ErrorKind, Write as _};

use anyhow::Context as _;
use serde::Serialize;

/// Whether data is printed for people or for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Format {
    /// What `--json`, given or not, asks for.
    pub(crate) fn of_json(asked: bool) -> Self {
        if asked { Self::Json } else { Self::Text }
    }
}

/// Prints to standard output. A reader that has seen enough and left, as `head` does, is no failure.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a value to standard output as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).context("cannot write this as JSON")?;
    print(&format!("{text}\n"))
}

/// Prints to standard error. If even that fails, only the exit status is left to tell.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
