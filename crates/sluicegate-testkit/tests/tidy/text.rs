//! Text files are plain: no trailing blanks, Unix line ends, a newline at the end, code that fits a window.

use crate::expect_none;
use crate::tracked::{File, files, rust_files};

/// In characters. The formatter breaks code earlier, but neither comments nor strings.
const LINE_MAX: usize = 120;

/// Inputs that are odd on purpose, or written by a tool.
const AS_THEY_ARE: [&str; 3] =
    ["crates/sluicegate/tests/broken/", "crates/sluicegate-core/tests/policies/", "/proptest-regressions/"];

#[test]
fn no_line_of_code_is_longer_than_120_characters() {
    let too_long = |line: &str| Some(line.chars().count()).filter(|&n| n > LINE_MAX);
    let places =
        rust_files().flat_map(|file| file.places(|line| Some(format!("{} characters", too_long(line)?))));
    expect_none(&places.collect::<Vec<_>>(), "Break the line.");
}

#[test]
fn no_line_ends_in_blanks_or_a_carriage_return() {
    let trailing = |line: &str| line.ends_with(char::is_whitespace).then(|| format!("{line:?}"));
    let places = plain_files().flat_map(|file| file.places(trailing));
    expect_none(&places.collect::<Vec<_>>(), "End the line after its last visible character.");
}

#[test]
fn every_file_ends_with_one_newline() {
    let ends_well = |text: &str| text.is_empty() || (text.ends_with('\n') && !text.ends_with("\n\n"));
    let places: Vec<String> = plain_files()
        .filter(|file| !ends_well(&file.text))
        .map(|file| format!("{}:{}", file.path, file.text.lines().count()))
        .collect();
    expect_none(&places, "End the file with a single newline.");
}

fn plain_files() -> impl Iterator<Item = &'static File> {
    files().iter().filter(|file| !AS_THEY_ARE.iter().any(|folder| file.path.contains(folder)))
}
