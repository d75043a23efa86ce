//! A progress line while a large spool is read.

use std::io::{IsTerminal as _, Write as _};

use sluicegate_engine::Progress;

/// Spools smaller than this are read before anybody could read a line about it.
const SHOWN_FROM: u64 = 500_000;

/// Shows how far recovery has come: one line that is written over on a terminal, now and then a line elsewhere.
pub(super) struct Line {
    shown_percent: Option<u64>,
}

impl Line {
    pub(super) fn new() -> Self {
        Self { shown_percent: None }
    }

    pub(super) fn show(&mut self, Progress { done, total }: Progress) {
        if total < SHOWN_FROM {
            return;
        }
        let percent = done.saturating_mul(100) / total.max(1);
        let terminal = std::io::stderr().is_terminal();
        let step = if terminal { 1 } else { 25 };
        if self.shown_percent.is_some_and(|shown| percent < shown + step) {
            return;
        }
        self.shown_percent = Some(percent);
        let (start, end) = if terminal { ("\r", "") } else { ("", "\n") };
        let _ =
            write!(std::io::stderr(), "{start}recovering: {percent} % of {total} records counted again{end}");
    }

    /// Ends the line, if there is one.
    pub(super) fn end(&self) {
        if self.shown_percent.is_some() && std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr());
        }
    }
}
