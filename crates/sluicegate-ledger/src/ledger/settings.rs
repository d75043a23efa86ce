//! How a ledger is kept.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use sluicegate_core::time::Nanos;

use super::error::OpenLedgerError;
use crate::chain::replace;
use crate::usage::{Book, BookError};

/// How a ledger is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerSettings {
    /// The name of the node. Without one, one is made and kept.
    pub node: Option<String>,
    /// How long after its end an hour is closed.
    pub grace: Nanos,
    /// How long single records are kept.
    pub retain_records: Nanos,
    /// How long usage by the quarter of an hour is kept.
    pub retain_rollups: Nanos,
}

impl LedgerSettings {
    /// Longer than a request takes, or a clock is stepped back.
    pub const GRACE_DEFAULT: Nanos = Nanos::from_secs(300);
    /// 400 days: the same month of last year can still be asked for.
    pub const RETAIN_DEFAULT: Nanos = Nanos::from_secs(400 * 86_400);
    /// The longest name of a node.
    pub const NODE_LENGTH_MAX: usize = 64;
}

impl Default for LedgerSettings {
    fn default() -> Self {
        Self {
            node: None,
            grace: Self::GRACE_DEFAULT,
            retain_records: Self::RETAIN_DEFAULT,
            retain_rollups: Self::RETAIN_DEFAULT,
        }
    }
}

/// The name of the node, which stays the same: objects and events are named with it. It outlives the book.
pub(super) fn node_of(dir: &Path, book: &Book, wanted: Option<&str>) -> Result<String, OpenLedgerError> {
    if let Some(wanted) = wanted.filter(|wanted| !is_name(wanted)) {
        return Err(OpenLedgerError::Node { name: wanted.to_owned() });
    }
    let path = dir.join(super::NODE);
    let failed = |source| OpenLedgerError::Io { path: path.clone(), source };
    let in_file = match fs::read_to_string(&path) {
        Ok(text) => Some(text.trim_end().to_owned()).filter(|name| is_name(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let has_file = in_file.is_some();
    let in_book = || -> Result<Option<String>, BookError> {
        Ok(book.meta(super::NODE)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    };
    let kept = in_file.map_or_else(in_book, |name| Ok(Some(name)))?;
    let node = choose(kept, wanted)?;
    if !has_file {
        replace(&path, format!("{node}\n").as_bytes()).map_err(failed)?;
    }
    Ok(node)
}

fn choose(kept: Option<String>, wanted: Option<&str>) -> Result<String, OpenLedgerError> {
    match (kept, wanted) {
        (Some(kept), None) => Ok(kept),
        (Some(kept), Some(wanted)) if kept == wanted => Ok(kept),
        (Some(kept), Some(wanted)) => Err(OpenLedgerError::Renamed { kept, wanted: wanted.to_owned() }),
        (None, wanted) => wanted.map_or_else(make_name, |wanted| Ok(wanted.to_owned())),
    }
}

/// Letters, digits, `-` and `_`: it is part of the names of objects.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LedgerSettings::NODE_LENGTH_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

fn make_name() -> Result<String, OpenLedgerError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| OpenLedgerError::Random)?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}
