//! What a decision says about limits, as lines of an answer.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The lines of a decision, wherever it was made.
#[derive(Debug)]
pub(crate) enum Said {
    /// By the engine of this process.
    #[cfg(feature = "embedded")]
    Lines(sluicegate_engine::HeaderLines),
    /// By one elsewhere.
    #[cfg(feature = "remote")]
    Map(Box<HeaderMap>),
}

impl Said {
    /// Puts all lines into the headers of an answer.
    pub(crate) fn put_into(&self, headers: &mut HeaderMap) {
        match self {
            #[cfg(feature = "embedded")]
            Self::Lines(lines) => headers.extend(lines.to_http()),
            #[cfg(feature = "remote")]
            Self::Map(map) => headers.extend(map.iter().map(|(name, value)| (name.clone(), value.clone()))),
        }
    }

    /// All lines, in their order.
    pub(crate) fn lines(&self) -> Vec<(HeaderName, HeaderValue)> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Lines(lines) => lines.to_http().collect(),
            #[cfg(feature = "remote")]
            Self::Map(map) => map.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}
