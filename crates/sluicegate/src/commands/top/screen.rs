//! What the live view shows, whatever it is drawn on.

use super::look::Look;

/// By what callers are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// By their requests.
    Requests,
    /// By their refusals.
    Refusals,
}

impl By {
    /// The word for it, in the API and on the screen.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Refusals => "refusals",
        }
    }
}

/// Whether what is new is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// At once.
    Live,
    /// Not now: somebody is reading.
    Paused,
}

/// What is shown.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) server: String,
    pub(super) look: Look,
    pub(super) by: By,
    pub(super) pace: Pace,
    /// Why the last look failed, if it did. What was seen before stays.
    pub(super) trouble: Option<String>,
}

impl Screen {
    pub(super) fn new(server: String, look: Look) -> Self {
        Self { server, look, by: By::Requests, pace: Pace::Live, trouble: None }
    }

    pub(super) fn saw(&mut self, look: anyhow::Result<Look>) {
        match look {
            Ok(_) if self.pace == Pace::Paused => {}
            Ok(look) => (self.look, self.trouble) = (look, None),
            Err(error) => self.trouble = Some(format!("{error:#}")),
        }
    }

    /// Orders callers by the other thing, and says by which.
    pub(super) fn turn(&mut self) -> By {
        self.by = if self.by == By::Requests { By::Refusals } else { By::Requests };
        self.by
    }

    /// Stops, or goes on.
    pub(super) fn pause(&mut self) {
        self.pace = if self.pace == Pace::Live { Pace::Paused } else { Pace::Live };
    }
}
