//! What is finished holds no notes to oneself, no switched-off tests, and nothing of one's own machine.
//!
//! The patterns are written in two halves, so that this file does not match them.

use crate::expect_none;
use crate::tracked::{files, rust_files};

const NOTES: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

const SWITCHES: [&str; 3] = [concat!("#[", "ignore"), concat!(", ", "ignore)]"), concat!("```", "ignore")];

const MACHINE_FOLDERS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

#[test]
fn no_file_holds_a_note_to_oneself() {
    let places = files().iter().flat_map(|file| file.places(|line| first(line, &NOTES, is_part_of_a_word)));
    expect_none(&places.collect::<Vec<_>>(), "Do it, or write it down where work is planned.");
}

#[test]
fn no_test_is_switched_off() {
    let places = rust_files().flat_map(|file| file.places(|line| first(line, &SWITCHES, |_| false)));
    expect_none(
        &places.collect::<Vec<_>>(),
        "Mend it or delete it. A slow test reads SLUICEGATE_SLOW instead.",
    );
}

#[test]
fn no_file_names_a_folder_of_somebodys_machine() {
    let named =
        |line: &str| MACHINE_FOLDERS.into_iter().find(|folder| starts(line, folder)).map(str::to_owned);
    let places = files().iter().flat_map(|file| file.places(named));
    expect_none(&places.collect::<Vec<_>>(), "Name it relative to the repository, or from a variable.");
}

/// The first of these that stands in the line as a word of its own.
fn first(line: &str, patterns: &[&str], goes_on: fn(char) -> bool) -> Option<String> {
    let alone = |pattern: &&&str| {
        line.match_indices(**pattern).any(|(at, found)| {
            !line[..at].ends_with(goes_on) && !line[at + found.len()..].starts_with(goes_on)
        })
    };
    patterns.iter().find(alone).map(|pattern| (*pattern).to_owned())
}

/// Whether a path starts with this folder, rather than going on with it.
fn starts(line: &str, folder: &str) -> bool {
    let goes_on = |c: char| is_part_of_a_word(c) || "./-~}*".contains(c);
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(goes_on))
}

fn is_part_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn a_note_is_a_word_of_its_own() {
    let note = NOTES[0];
    let is_note = |line: &str| first(line, &NOTES, is_part_of_a_word).is_some();
    assert!(is_note(&format!("// {note}: later")) && is_note(note));
    assert!(!is_note(&format!("{note}S")) && !is_note(&note.to_lowercase()));
}

#[test]
fn a_folder_of_a_machine_is_at_the_start_of_a_path() {
    let folder = MACHINE_FOLDERS[0];
    let is_found = |line: &str| starts(line, folder);
    assert!(is_found(&format!("see {folder}me")) && is_found(&format!("\"{folder}me\"")) && is_found(folder));
    assert!(!is_found(&format!("https://example.org{folder}me")) && !is_found("$HOME/me"));
}
