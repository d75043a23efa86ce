//! How far a long chain is checked, on terminals.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sluicegate_ledger::chain::Checked;

/// Shorter chains are checked before anybody could read about it.
const SHOWN_FROM: u64 = 20;

/// A line that is written over, and taken away at the end.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("verifying: {pos} of {len} segments {bar:30}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn show(&self, Checked { lines, of }: Checked) {
        if of >= SHOWN_FROM {
            self.0.set_length(of);
            self.0.set_position(lines);
        }
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}
