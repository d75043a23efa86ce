//! Where a policy comes from: a file, or standard input.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;
use tollgate_core::file::{self, FILE_BYTES_MAX, Problem};
use tollgate_core::policy::Document;

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
            let bytes = head(io::stdin().lock()).context("cannot read standard input")?;
            return Ok(Self { name: "<stdin>".to_owned(), bytes });
        }
        let name = path.display().to_string();
        let bytes = File::open(path).and_then(head).with_context(|| format!("cannot read {name}"))?;
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
}

/// The first bytes, one more than a policy file may have.
fn head(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
