//! Byte images of limits and meters, for stores that outlive the process.
//!
//! Every image starts with its version, and what a version means never changes: a process reads the images of
//! those before it, or refuses them. Reading trusts nothing. Whatever the bytes are, what comes out is a value
//! that could have been written, or a [`BadImage`].
//!
//! Concurrency slots have no image: the requests that hold them end with the process.

use std::fmt;

mod entry;
mod meter;
mod reader;

pub use entry::{EntryImage, decode_entry, encode_entry};
pub use meter::{Written, decode_meter, encode_meter};
pub use reader::{Reader, put_number};

/// Why bytes are no image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadImage {
    /// It has a version that this program cannot read.
    Version(u8),
    /// It is of a kind that does not exist.
    Kind(u8),
    /// It ends before everything was said.
    Short,
    /// It goes on after everything was said.
    Long,
    /// A value lies outside of its range.
    Range(&'static str),
    /// Its calendar goes by a time zone that is not known here.
    Zone(String),
    /// Its limit has no such number in the book.
    Limit(u64),
    /// It was written under another algorithm than its limit has.
    Algorithm,
}

impl fmt::Display for BadImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "an image of version {version}, which is not known here"),
            Self::Kind(kind) => write!(f, "an image of the kind {kind}, which does not exist"),
            Self::Short => f.write_str("an image that ends too early"),
            Self::Long => f.write_str("an image with bytes left over"),
            Self::Range(what) => write!(f, "an image with {what} out of range"),
            Self::Zone(name) => write!(f, "an image with the time zone `{name}`, which is not known here"),
            Self::Limit(number) => {
                write!(f, "an image of a meter of limit {number}, which is not in the book")
            }
            Self::Algorithm => f.write_str("an image of a meter under another algorithm than its limit has"),
        }
    }
}

impl std::error::Error for BadImage {}
