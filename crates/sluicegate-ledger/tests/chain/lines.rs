//! Lines of the chain that were edited, swapped, left out or added.

use std::fs;

use sluicegate_ledger::chain::Why;

use crate::fixtures::{Bed, bad, copy, log};

#[test]
fn lines_that_were_edited_swapped_doubled_or_left_out_are_named() {
    let original = Bed::with(80).closed();
    let text = fs::read_to_string(log(original.path())).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6);
    let edits: [(Vec<&str>, u64); 5] = [
        (vec![lines[0], lines[2], lines[1], lines[3], lines[4], lines[5]], 2),
        (vec![lines[0], lines[1], lines[3], lines[4], lines[5]], 3),
        (vec![lines[0], lines[1], lines[1], lines[2], lines[3], lines[4], lines[5]], 3),
        (vec![lines[1], lines[2], lines[3], lines[4], lines[5]], 1),
        (vec![lines[0], lines[1], "", lines[2], lines[3], lines[4], lines[5]], 3),
    ];
    for (edited, line) in edits {
        let dir = copy(original.path());
        fs::write(log(dir.path()), edited.join("\n") + "\n").unwrap();
        let found = bad(dir.path());
        assert_eq!((found.line, found.why), (Some(line), Why::Line));
    }
}

#[test]
fn a_line_that_nobody_signed_is_named() {
    let dir = Bed::with(80).closed();
    let text = fs::read_to_string(log(dir.path())).unwrap();
    let last = text.lines().last().unwrap();
    // Its own link, with the signature of another.
    let other = text.lines().nth(2).unwrap().rsplit_once(' ').unwrap().1;
    let forged = format!("{} {other}", last.rsplit_once(' ').unwrap().0);
    fs::write(log(dir.path()), text.replace(last, &forged)).unwrap();
    let found = bad(dir.path());
    assert_eq!((found.line, found.why), (Some(6), Why::Signature));
}

#[test]
fn numbers_have_one_way_to_be_written() {
    let dir = Bed::with(80).closed();
    let text = fs::read_to_string(log(dir.path())).unwrap();
    for (from, to) in [("segment 16 ", "segment 016 "), ("segment 16 ", "segment +16 "), ("\n", "\r\n")] {
        fs::write(log(dir.path()), text.replacen(from, to, 1)).unwrap();
        assert_eq!(bad(dir.path()).why, Why::Line);
    }
}
