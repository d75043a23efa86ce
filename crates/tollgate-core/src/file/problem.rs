//! One thing that is wrong with a policy file, where it stands, and what to write instead.

use std::fmt::Write as _;

/// A place in the text: line and column count from 1, `length` is in characters, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// How many characters the caret underlines.
    pub length: usize,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What, in one sentence without a full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// All problems as a person reads them: `path:line:column: error: …`, the line, a caret, the way out.
pub fn render(problems: &[Problem], path: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for problem in problems {
        let Place { line, column, length } = problem.place;
        let _ = writeln!(out, "{path}:{line}:{column}: error: {}", problem.message);
        if let Some(source) = lines.get(line - 1) {
            let gutter = line.to_string();
            let _ = writeln!(out, "  {gutter} | {source}");
            let _ = writeln!(
                out,
                "  {} | {}{}",
                " ".repeat(gutter.len()),
                " ".repeat(column - 1),
                "^".repeat(length)
            );
        }
        if let Some(help) = &problem.help {
            let _ = writeln!(out, "  help: {help}");
        }
        out.push('\n');
    }
    out
}
