//! A progress line while a long chain is checked, on terminals only.

use std::io::{IsTerminal as _, Write as _};

use tollgate_ledger::chain::Checked;

/// Shorter chains are checked before anybody could read a line about it.
const SHOWN_FROM: u64 = 20;

/// Shows how far it has come: one line that is written over.
pub(super) struct Line {
    shown_percent: Option<u64>,
    is_terminal: bool,
}

impl Line {
    pub(super) fn new() -> Self {
        Self { shown_percent: None, is_terminal: std::io::stderr().is_terminal() }
    }

    pub(super) fn show(&mut self, Checked { lines, of }: Checked) {
        let percent = lines.saturating_mul(100) / of.max(1);
        if !self.is_terminal || of < SHOWN_FROM || self.shown_percent == Some(percent) {
            return;
        }
        self.shown_percent = Some(percent);
        let _ = write!(std::io::stderr(), "\rverifying: {percent} % of {of} segments");
    }

    /// Takes the line away, if there is one.
    pub(super) fn end(&self) {
        if self.shown_percent.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
