//! The settings of the ledger and of alerts.

use std::fmt;
use std::path::PathBuf;

use super::identity::SecretSource;
use super::url::HttpUrl;
use crate::limit::Limit;
use crate::time::Nanos;

/// The record of what was used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerSettings {
    /// How long usage by the quarter of an hour is kept.
    pub retain: Nanos,
    /// How long single records are kept.
    pub raw: Nanos,
    /// Where sealed records are copied.
    pub export: Option<ExportTarget>,
    /// When a record is on disk.
    pub durability: Durability,
}

/// Where sealed records are copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExportTarget {
    /// A directory of this machine, by its absolute path.
    Directory(PathBuf),
    /// Object storage.
    S3 {
        /// The bucket.
        bucket: String,
        /// What the names of the objects start with; may be empty.
        prefix: String,
    },
}

impl ExportTarget {
    /// Reads `file:///directory` or `s3://bucket/prefix`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains(char::is_control) {
            return None;
        }
        if let Some(path) = text.strip_prefix("file://") {
            return path.starts_with('/').then(|| Self::Directory(path.into()));
        }
        let (bucket, prefix) = match text.strip_prefix("s3://")?.split_once('/') {
            Some((bucket, prefix)) => (bucket, prefix),
            None => (text.strip_prefix("s3://")?, ""),
        };
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'.' | b'-');
        ((3..=63).contains(&bucket.len()) && bucket.bytes().all(inner))
            .then(|| Self::S3 { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() })
    }
}

/// As it is read.
impl fmt::Display for ExportTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "file://{}", path.display()),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

/// When a record is on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Within milliseconds of the answer. It survives a crash of the process at once, one of the machine then.
    Normal,
    /// Before the answer.
    Strict,
}

impl LedgerSettings {
    /// A year and a month: last year's invoice can still be argued about.
    pub const RETAIN_DEFAULT: Nanos = Nanos::from_secs(400 * 86_400);
    /// The longest month, and the days that [`LedgerSettings::RAW_MARGIN`] wants, and one more.
    pub const RAW_DEFAULT: Nanos = Nanos::from_secs(35 * 86_400);
    /// For how long records are kept beyond the longest quota window: time to find out that something is wrong.
    pub const RAW_MARGIN: Nanos = Nanos::from_secs(3 * 86_400);
    /// A hundred years.
    pub const RETAIN_SECS_MAX: u32 = 36_500 * 86_400;

    /// For how long these limits need single records: meters are counted again from them.
    pub fn raw_needed<'l>(limits: impl Iterator<Item = &'l Limit>) -> Nanos {
        let longest = limits.filter_map(Limit::quota_window).max();
        longest.map_or(Nanos::ZERO, |longest| Nanos(longest.0.saturating_add(Self::RAW_MARGIN.0)))
    }
}

impl Default for LedgerSettings {
    fn default() -> Self {
        let (retain, raw) = (Self::RETAIN_DEFAULT, Self::RAW_DEFAULT);
        Self { retain, raw, export: None, durability: Durability::Normal }
    }
}

/// Where alerts are sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Alerts {
    /// The URL that receives them.
    pub webhook: Option<HttpUrl>,
    /// Where the secret is found that they are signed with; nothing: one that the server makes.
    pub secret: Option<SecretSource>,
}
