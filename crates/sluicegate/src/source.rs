//! Where a policy comes from: a file, or standard input.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use sluicegate_core::file::{self, Problem};
use sluicegate_core::policy::Document;
use sluicegate_node::read_head;

/// What stands for standard input in place of a path.
const STDIN: &str = "-";

/// The bytes of a policy file, and what messages call it.
pub(crate) struct Source {
    name: String,
    bytes: Vec<u8>,
}

impl Source {
    /// Reads a file, or standard input for `-`: no more of it than it takes to see that it is too large.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() == STDIN {
            let bytes = read_head(io::stdin().lock()).context("cannot read standard input")?;
            return Ok(Self { name: "<stdin>".to_owned(), bytes });
        }
        let name = path.display().to_string();
        let bytes = File::open(path).and_then(read_head).with_context(|| format!("cannot read {name}"))?;
        Ok(Self { name, bytes })
    }

    /// What messages call it: the path as it was given.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The text, as far as it is text: for showing the lines that are wrong.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// What it means, or every problem with it.
    pub(crate) fn document(&self) -> Result<Document, Vec<Problem>> {
        file::read(&self.bytes)
    }

    /// The same, with what is probably a mistake.
    pub(crate) fn document_with_warnings(&self) -> Result<(Document, Vec<Problem>), Vec<Problem>> {
        file::read_with_warnings(&self.bytes)
    }
}
