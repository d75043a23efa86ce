//! A file that is invalid: every problem, for people or for programs.

use serde::Serialize;
use sluicegate_core::file::{PROBLEMS_MAX, Problem, render};

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::source::Source;

/// What `config check --json` prints.
#[derive(Serialize)]
pub(super) struct Report<'p> {
    valid: bool,
    problems: Vec<ProblemEntry<'p>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<ProblemEntry<'p>>,
}

#[derive(Serialize)]
struct ProblemEntry<'p> {
    line: usize,
    column: usize,
    message: &'p str,
    help: Option<&'p str>,
}

impl<'p> Report<'p> {
    /// The report of a file with these problems.
    pub(super) fn invalid(problems: &'p [Problem]) -> Self {
        Self { valid: false, problems: entries(problems), warnings: Vec::new() }
    }

    /// The report of a file that can be used.
    pub(super) fn valid(warnings: &'p [Problem]) -> Self {
        Self { valid: true, problems: Vec::new(), warnings: entries(warnings) }
    }
}

fn entries(problems: &[Problem]) -> Vec<ProblemEntry<'_>> {
    let entries = problems.iter().map(|problem| ProblemEntry {
        line: problem.place.line,
        column: problem.place.column,
        message: &problem.message,
        help: problem.help.as_deref(),
    });
    entries.collect()
}

/// Prints the problems: text to standard error, JSON to standard output.
pub(super) fn report(source: &Source, problems: &[Problem], format: Format) -> anyhow::Result<Exit> {
    match format {
        Format::Json => output::print_json(&Report::invalid(problems))?,
        Format::Text => {
            let all = render(problems, source.name(), &source.text());
            output::complain(&format!("{all}{} in {}\n", count(problems), source.name()));
        }
    }
    Ok(Exit::ConfigInvalid)
}

fn count(problems: &[Problem]) -> String {
    match problems.len() {
        1 => "1 problem".to_owned(),
        // The last of so many stands for all that were left out.
        PROBLEMS_MAX => format!("at least {PROBLEMS_MAX} problems"),
        count => format!("{count} problems"),
    }
}
