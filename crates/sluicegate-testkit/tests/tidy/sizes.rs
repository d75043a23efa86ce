//! Functions and files stay short enough to read in one go. `allowed.txt` may only shrink.

use crate::expect_none;
use crate::scanner::functions;
use crate::tracked::{File, rust_files};
use std::collections::BTreeMap;

const BODY_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;

/// What is longer than it should be and may stay so, as `lines path` or `lines path function`.
const ALLOWED: &str = include_str!("allowed.txt");

/// A file, or a function in a file: `path`, or `path function`.
type Name = String;

#[test]
fn no_function_body_is_longer_than_70_lines() {
    expect_none(&beyond_allowance(rust_files().flat_map(long_functions)), "Split it by what its parts do.");
}

#[test]
fn no_rust_file_is_longer_than_500_lines() {
    expect_none(
        &beyond_allowance(rust_files().filter_map(long_file)),
        "Move what has a job of its own to a file of its own.",
    );
}

#[test]
fn every_allowance_for_length_is_still_needed() {
    let long: BTreeMap<Name, usize> = rust_files()
        .flat_map(|file| long_functions(file).chain(long_file(file)))
        .map(|it| (it.name, it.lines))
        .collect();
    let stale: Vec<String> = allowed()
        .into_iter()
        .filter_map(|(name, lines)| match long.get(&name) {
            None => Some(format!("allowed.txt: {lines} {name}: it is short now, delete the line")),
            Some(&now) if now < lines => {
                Some(format!("allowed.txt: {lines} {name}: it has {now} lines now, write that"))
            }
            Some(_) => None,
        })
        .collect();
    expect_none(&stale, "The list may only shrink.");
}

struct Long {
    name: Name,
    place: String,
    lines: usize,
}

fn long_functions(file: &File) -> impl Iterator<Item = Long> {
    let functions = functions(&file.text).into_iter();
    functions.filter(|function| function.body_lines > BODY_LINES_MAX).map(|function| Long {
        name: format!("{} {}", file.path, function.name),
        place: format!("{}:{}: {}", file.path, function.line, function.name),
        lines: function.body_lines,
    })
}

fn long_file(file: &File) -> Option<Long> {
    let lines = file.text.lines().count();
    let long = Long { name: file.path.clone(), place: format!("{}:{lines}", file.path), lines };
    (lines > FILE_LINES_MAX).then_some(long)
}

fn beyond_allowance(long: impl Iterator<Item = Long>) -> Vec<String> {
    let allowed = allowed();
    let beyond = |it: &Long| allowed.get(&it.name).is_none_or(|&lines| it.lines > lines);
    long.filter(beyond).map(|it| format!("{}: {} lines", it.place, it.lines)).collect()
}

fn allowed() -> BTreeMap<Name, usize> {
    let entries = ALLOWED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    entries
        .map(|line| {
            let (lines, name) =
                line.split_once(' ').expect("a line of allowed.txt is `lines path [function]`");
            (name.to_owned(), lines.parse().expect("a line of allowed.txt starts with a number"))
        })
        .collect()
}
