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

impl Place {
    /// The first character of the file: where problems of the file as a whole stand.
    pub const START: Self = Self { line: 1, column: 1, length: 1 };
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
    /// Whether the line may be shown as it is.
    pub excerpt: Excerpt,
}

/// Whether what stands at a problem's place may be repeated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Excerpt {
    /// It may.
    Shown,
    /// It is, or holds, a secret: terminals, logs and pasted reports are no place for it.
    Masked,
}

/// The most characters of a source line that are shown: a file may be one line of a mebibyte.
const SHOWN_MAX: usize = 160;

/// How many characters before the spot are shown when the line is longer than that.
const SHOWN_BEFORE: usize = 60;

/// All problems as a person reads them: `path:line:column: error: …`, the line, a caret, the way out.
pub fn render(problems: &[Problem], path: &str, text: &str) -> String {
    render_as("error", problems, path, text)
}

/// The same of warnings: `path:line:column: warning: …`.
pub fn render_warnings(warnings: &[Problem], path: &str, text: &str) -> String {
    render_as("warning", warnings, path, text)
}

fn render_as(word: &str, problems: &[Problem], path: &str, text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = lines(text).collect();
    let mut out = String::new();
    for problem in problems {
        let Place { line, column, .. } = problem.place;
        let _ = writeln!(out, "{path}:{line}:{column}: {word}: {}", problem.message);
        if let Some(source) = lines.get(line.saturating_sub(1)) {
            let gutter = line.to_string();
            let (source, caret) = underlined(&masked(source, line, problems), problem.place);
            let _ = writeln!(out, "  {gutter} | {source}");
            let _ = writeln!(out, "  {} | {caret}", " ".repeat(gutter.len()));
        }
        if let Some(help) = &problem.help {
            let _ = writeln!(out, "  help: {help}");
        }
        out.push('\n');
    }
    out
}

/// The line with stars over everything that some problem found to be a secret.
fn masked(source: &str, line: usize, problems: &[Problem]) -> String {
    let secrets: Vec<Place> = problems
        .iter()
        .filter(|problem| problem.excerpt == Excerpt::Masked && problem.place.line == line)
        .map(|problem| problem.place)
        .collect();
    let hidden = |column: usize| {
        secrets.iter().any(|place| (place.column..place.column + place.length).contains(&column))
    };
    source.chars().zip(1..).map(|(c, column)| if hidden(column) { '*' } else { c }).collect()
}

/// The part of the line around the place, and the carets that stand under it.
fn underlined(source: &str, place: Place) -> (String, String) {
    let before = place.column.saturating_sub(1);
    let start = if source.chars().nth(SHOWN_MAX).is_none() || before < SHOWN_BEFORE {
        0
    } else {
        before.saturating_sub(SHOWN_BEFORE)
    };
    // What a terminal would obey, or show wider than one column, would move the caret away from its spot.
    let shown: String =
        source.chars().skip(start).take(SHOWN_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let length = place.length.clamp(1, SHOWN_MAX);
    let caret = format!("{}{}", " ".repeat(before - start), "^".repeat(length));
    (shown.trim_end().to_owned(), caret)
}

/// The lines of a text as YAML counts them: ended by a line feed, a carriage return, or both.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '\r'])
        .scan(false, |after_return, piece| {
            // The line feed of a pair is a piece of its own and no line.
            let second_half = *after_return && piece == "\n";
            *after_return = piece.ends_with('\r');
            Some((!second_half).then(|| piece.trim_end_matches(['\n', '\r'])))
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_a_feed_a_return_or_both() {
        let all: Vec<&str> = lines("a\nb\r\nc\rd\n\n\r\ne").collect();
        assert_eq!(all, ["a", "b", "c", "d", "", "", "e"]);
    }

    #[test]
    fn the_caret_of_a_very_long_line_stays_in_sight() {
        let text = format!("{}x{}", " ".repeat(5_000), "y".repeat(5_000));
        let place = Place { line: 1, column: 5_001, length: 1 };
        let problem = Problem { place, message: "no".to_owned(), help: None, excerpt: Excerpt::Shown };
        let page = render(&[problem], "f.yaml", &text);
        let mut rows = page.lines().skip(1);
        let (source, caret) = (rows.next().unwrap(), rows.next().unwrap());
        assert!(source.len() < 200);
        assert_eq!(source.find('x'), caret.find('^'));
    }

    #[test]
    fn secrets_are_not_shown_by_any_problem_of_their_line() {
        let at = |column, length, excerpt| Problem {
            place: Place { line: 1, column, length },
            message: "no".to_owned(),
            help: None,
            excerpt,
        };
        let problems = [at(1, 1, Excerpt::Shown), at(4, 6, Excerpt::Masked)];
        let page = render(&problems, "f.yaml", "a: secret # b\n");
        assert!(!page.contains("secret"), "{page}");
        assert_eq!(page.matches("a: ****** # b").count(), 2, "{page}");
    }
}
