//! Where problems are collected: reading goes on after each of them.

use std::collections::BTreeSet;

use super::problem::{Excerpt, Place, Problem};
use super::suggest;

/// The most problems that are handed out; the last of them then says how many more there are.
pub const PROBLEMS_MAX: usize = 100;

/// Above this many problems no look-alikes are searched: nobody reads that far, and the search is not free.
const SUGGESTED_MAX: usize = 300;

/// The most characters of a message or a help. Our own words are shorter; what they quote from the file may not be.
const PRINTED_MAX: usize = 400;

/// The text without anything a terminal would obey, and not too long.
fn printable(text: &str) -> String {
    text.chars().take(PRINTED_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The problems so far, in the order of the file. What an alias repeats is one problem.
#[derive(Default)]
pub(super) struct Sink {
    problems: BTreeSet<Problem>,
    /// What is probably a mistake, and does not keep the file from being used.
    warnings: BTreeSet<Problem>,
}

impl Sink {
    /// Notes a problem with its way out.
    pub(super) fn report(&mut self, place: Place, message: impl Into<String>, help: impl Into<String>) {
        self.insert(place, &message.into(), &help.into(), Excerpt::Shown);
    }

    /// Notes a problem with something that may be a secret: nobody repeats what stands there.
    pub(super) fn report_secret(
        &mut self,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.insert(place, &message.into(), &help.into(), Excerpt::Masked);
    }

    /// Notes what is probably a mistake.
    pub(super) fn warn(&mut self, place: Place, message: impl Into<String>, help: impl Into<String>) {
        let (message, help) = (printable(&message.into()), printable(&help.into()));
        self.warnings.insert(Problem { place, message, help: Some(help), excerpt: Excerpt::Shown });
    }

    fn insert(&mut self, place: Place, message: &str, help: &str, excerpt: Excerpt) {
        let (message, help) = (printable(message), printable(help));
        self.problems.insert(Problem { place, message, help: Some(help), excerpt });
    }

    /// The warnings, of which no more are handed out than of problems.
    pub(super) fn take_warnings(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.warnings).into_iter().take(PROBLEMS_MAX).collect()
    }

    /// The known word that `word` was probably meant to be.
    pub(super) fn suggest<'k>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<&'k str> {
        if self.problems.len() > SUGGESTED_MAX {
            return None;
        }
        suggest::closest(word, known)
    }

    /// ``did you mean `x`?``, or else what `otherwise` says.
    pub(super) fn did_you_mean<'k>(
        &self,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
        otherwise: impl FnOnce() -> String,
    ) -> String {
        match self.suggest(word, known) {
            Some(known) => format!("did you mean `{known}`?"),
            None => otherwise(),
        }
    }

    /// Whether nothing was reported.
    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// All problems, at most [`PROBLEMS_MAX`] of them.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let count = self.problems.len();
        if count <= PROBLEMS_MAX {
            return self.problems.into_iter().collect();
        }
        let mut all = self.problems.into_iter();
        let mut kept: Vec<Problem> = all.by_ref().take(PROBLEMS_MAX - 1).collect();
        kept.extend(all.next().map(|next| Problem {
            place: next.place,
            message: format!("and {} more problems from here on", count - (PROBLEMS_MAX - 1)),
            help: None,
            excerpt: next.excerpt,
        }));
        kept
    }
}
