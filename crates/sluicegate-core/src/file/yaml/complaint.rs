//! What the YAML scanner found, in the words of someone who writes policy files.

use saphyr_parser::ScanError;

use crate::file::problem::Place;
use crate::file::sink::Sink;

/// A part of the scanner's message, what it means, and the way out. The first that fits is used.
const COMPLAINTS: &[(&str, &str, &str)] = &[
    ("recursion limit", "brackets are nested too deeply here", "no policy needs more than a few levels"),
    (
        "unknown anchor",
        "this alias names an anchor that is not defined above it",
        "define it first, as in `&name`, or write the value out",
    ),
    ("unexpected end of stream", "this quote is never closed", "close it with the same kind of quote"),
    (
        "indentation in quoted scalar",
        "this quote is not closed on its line, and the next line is not indented",
        "close it with the same kind of quote",
    ),
    (
        "unknown escape",
        "this text has a backslash escape that does not exist",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    (
        "mapping values are not allowed",
        "a second `:` stands where a value was expected",
        "start a new line for the next key, with the indentation of its neighbours; put text that holds `: ` in quotes",
    ),
    (
        "did not find expected key",
        "this line is not indented like the keys around it",
        "give keys of one mapping the same indentation",
    ),
    (
        "expected '-' indicator",
        "this line is no entry of the list above it",
        "start list entries with `- ` at the same indentation, or indent the list below its key",
    ),
    (
        "expected ',' or '}'",
        "`,` or `}` is missing before this",
        "close the `{` or separate its keys with commas",
    ),
    (
        "expected ',' or ']'",
        "`,` or `]` is missing before this",
        "close the `[` or separate its entries with commas",
    ),
    (
        "placement of ':'",
        "`:` may not stand here",
        "close the bracket that is open above, or put the text in quotes",
    ),
    (
        "valid YAML whitespace",
        "a `:` must be followed by a space, not by a tab",
        "put a space between the key and its value",
    ),
    ("misplaced bracket", "this bracket closes nothing", "remove it, or open it first"),
    ("unexpected character", "a value may not start with this character", "put the text in quotes"),
    (
        "comment intercepting",
        "a comment stands in the middle of a text of several lines",
        "put the value on one line",
    ),
];

/// Reports why the scanner gave up. Tabs come first: what they cause is complained about in many ways.
pub(super) fn report(error: &ScanError, lines: &[&str], sink: &mut Sink) {
    let mark = error.marker();
    let line = mark.line().clamp(1, lines.len().max(1));
    // A text of several lines is complained about where it starts, which may be the line before the tab.
    if error.info().contains("tab") {
        let near = (line..=line + 1).find_map(|line| Some((line, tab_in_indent(lines.get(line - 1)?)?)));
        if let Some((line, column)) = near {
            return report_tab(line, column, sink);
        }
    } else if let Some(column) = lines.get(line - 1).and_then(|line| tab_in_indent(line)) {
        return report_tab(line, column, sink);
    }
    // What comes after the tab is complained about; the tab is what is wrong.
    let after_tab =
        lines.get(line - 1).and_then(|line| line.chars().nth(mark.col().checked_sub(1)?)) == Some('\t');
    let column =
        if error.info().contains("valid YAML whitespace") && after_tab { mark.col() } else { mark.col() + 1 };
    let place = Place { line, column, length: 1 };
    match COMPLAINTS.iter().find(|(part, ..)| error.info().contains(part)) {
        Some((_, message, help)) => sink.report(place, *message, *help),
        None => sink.report(
            place,
            format!("this is not valid YAML: {}", error.info()),
            "check the indentation, the brackets and the quotes here and on the line above",
        ),
    }
}

/// Says that a tab stands where only spaces may.
pub(super) fn report_tab(line: usize, column: usize, sink: &mut Sink) {
    let place = Place { line, column, length: 1 };
    sink.report(place, "a tab may not indent", "indent with spaces, two for each level");
}

/// The column of the first tab in the white space that a line starts with, unless that is all there is.
pub(super) fn tab_in_indent(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = &line[..line.len() - rest.len()];
    if rest.is_empty() {
        return None;
    }
    indent.find('\t').map(|at| at + 1)
}
