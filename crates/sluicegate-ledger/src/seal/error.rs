//! Why hours could not be sealed.

use std::error::Error;
use std::fmt;

use crate::export::ExportError;
use crate::hour::Hour;
use crate::usage::BookError;

/// Why hours could not be sealed. Those that were stay sealed, and the rest is for the next attempt.
#[derive(Debug)]
pub enum SealError {
    /// The object could not be made.
    Export(ExportError),
    /// The store refused, or could not be reached.
    #[cfg(feature = "export")]
    Store(object_store::Error),
    /// There is another object in its place, with other rows.
    Differs {
        /// Its name.
        object: String,
    },
    /// The hour is not closed.
    Open {
        /// Which one.
        hour: Hour,
    },
    /// There is nothing in the hour, or not any more.
    Empty {
        /// Which one.
        hour: Hour,
    },
    /// The program is ending.
    Interrupted,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Export(error) => error.fmt(f),
            #[cfg(feature = "export")]
            Self::Store(error) => write!(f, "object storage: {error}"),
            Self::Differs { object } => write!(
                f,
                "{object} is in object storage already and says something else; run `sluicegate usage reconcile` to \
                 see what, and with `--repair` to replace it"
            ),
            Self::Open { hour } => write!(f, "the hour {hour} is not closed yet"),
            Self::Empty { hour } => {
                write!(f, "there is no usage in the hour {hour}, or it is removed already")
            }
            Self::Interrupted => f.write_str("sealing was interrupted"),
        }
    }
}

impl Error for SealError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Export(error) => Some(error),
            #[cfg(feature = "export")]
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ExportError> for SealError {
    fn from(error: ExportError) -> Self {
        Self::Export(error)
    }
}

impl From<BookError> for SealError {
    fn from(error: BookError) -> Self {
        Self::Export(ExportError::Book(error))
    }
}

#[cfg(feature = "export")]
impl From<object_store::Error> for SealError {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}
