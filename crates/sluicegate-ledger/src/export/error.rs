//! Why usage could not be written.

use std::error::Error;
use std::{fmt, io};

use super::names::Named;
use crate::usage::BookError;

/// Why usage could not be written. What was written before is not all of it.
#[derive(Debug)]
pub enum ExportError {
    /// The book failed.
    Book(BookError),
    /// Nobody could say what this is called.
    Unnamed(Named),
    /// A sum is longer than the format has room for.
    TooLarge,
    /// It could not be written to where it was to go.
    Io(io::Error),
    /// It could not be written as what it was to be.
    Encode(String),
    /// This program cannot write Parquet.
    NotBuilt,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Book(error) => error.fmt(f),
            Self::Unnamed(Named::Account(number)) => {
                write!(f, "the name of account {number} cannot be told at the moment")
            }
            Self::Unnamed(Named::Key(number)) => {
                write!(f, "the name of key {number} cannot be told at the moment")
            }
            Self::Unnamed(Named::Route(number)) => {
                write!(f, "the name of route {number} cannot be told at the moment")
            }
            Self::Unnamed(Named::Tier(number)) => {
                write!(f, "the name of tier {number} cannot be told at the moment")
            }
            Self::TooLarge => f.write_str("a sum is longer than the format has room for"),
            Self::Io(error) => write!(f, "usage could not be written: {error}"),
            Self::Encode(why) => write!(f, "usage could not be written: {why}"),
            Self::NotBuilt => {
                f.write_str("this program was built without Parquet: enable the feature `export`")
            }
        }
    }
}

impl Error for ExportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Book(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::Unnamed(_) | Self::TooLarge | Self::Encode(_) | Self::NotBuilt => None,
        }
    }
}

impl From<BookError> for ExportError {
    fn from(error: BookError) -> Self {
        Self::Book(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<csv::Error> for ExportError {
    fn from(error: csv::Error) -> Self {
        Self::Encode(error.to_string())
    }
}

impl From<serde_json::Error> for ExportError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() { Self::Io(error.into()) } else { Self::Encode(error.to_string()) }
    }
}

#[cfg(feature = "export")]
impl From<::parquet::errors::ParquetError> for ExportError {
    fn from(error: ::parquet::errors::ParquetError) -> Self {
        Self::Encode(error.to_string())
    }
}
