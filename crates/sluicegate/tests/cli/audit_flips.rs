//! One flipped bit, in whatever proves or is proven, is found by the command itself.

use std::fs;
use std::path::PathBuf;

use sluicegate_testkit::dice::Dice;

use crate::run::run;
use crate::signed_dir::{ENTRIES, SignedDir};

/// What is flipped.
enum Place {
    /// A byte of a file.
    Byte(PathBuf, usize),
    /// A byte of a column of an audit entry.
    Cell { seq: u64, column: &'static str, byte: usize },
}

/// Every place there is: the key proves and is not proven, and behind the checkpoint nothing is signed yet.
fn places(dir: &SignedDir) -> Vec<Place> {
    let mut files: Vec<(PathBuf, usize)> = Vec::new();
    for entry in fs::read_dir(dir.chain("")).unwrap() {
        let path = entry.unwrap().path();
        let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
        if path.extension().is_none_or(|it| it != "key") {
            files.push((path, length));
        }
    }
    files.extend((0..5).map(|number| (dir.segment(number * 16), 17 * 128)));
    files.push((dir.segment(80), 8 * 128));
    files.sort();
    let bytes =
        files.into_iter().flat_map(|(path, length)| (0..length).map(move |at| Place::Byte(path.clone(), at)));
    let mut places: Vec<Place> = bytes.collect();
    let shell = rusqlite::Connection::open(dir.database()).unwrap();
    for seq in 1..=ENTRIES {
        for column in ["at", "who", "action", "target", "after", "link"] {
            let sql = format!("SELECT length(CAST({column} AS BLOB)) FROM audit WHERE seq = ?1");
            let length: usize = if column == "at" {
                8
            } else {
                shell
                    .query_row(&sql, [seq.cast_signed()], |row| row.get::<_, i64>(0))
                    .unwrap()
                    .try_into()
                    .unwrap()
            };
            places.extend((0..length).map(|byte| Place::Cell { seq, column, byte }));
        }
    }
    places
}

impl Place {
    fn flip(&self, dir: &SignedDir, bit: u32) {
        match self {
            Self::Byte(path, at) => {
                let mut bytes = fs::read(path).unwrap();
                bytes[*at] ^= 1 << bit;
                fs::write(path, bytes).unwrap();
            }
            Self::Cell { seq, column, byte } => {
                let shell = rusqlite::Connection::open(dir.database()).unwrap();
                let seq = seq.cast_signed();
                if *column == "at" {
                    let sql = "SELECT at FROM audit WHERE seq = ?1";
                    let at: i64 = shell.query_row(sql, [seq], |row| row.get(0)).unwrap();
                    let at = at ^ (1 << (byte * 8 + bit as usize));
                    shell.execute("UPDATE audit SET at = ?2 WHERE seq = ?1", [seq, at]).unwrap();
                    return;
                }
                let sql = format!("SELECT CAST({column} AS BLOB) FROM audit WHERE seq = ?1");
                let mut bytes: Vec<u8> = shell.query_row(&sql, [seq], |row| row.get(0)).unwrap();
                bytes[*byte] ^= 1 << bit;
                let value = if *column == "link" { "?2" } else { "CAST(?2 AS TEXT)" };
                let sql = format!("UPDATE audit SET {column} = {value} WHERE seq = ?1");
                shell.execute(&sql, (seq, bytes)).unwrap();
            }
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Byte(path, at) => format!("byte {at} of {}", path.display()),
            Self::Cell { seq, column, byte } => format!("byte {byte} of {column} of entry {seq}"),
        }
    }
}

#[test]
fn one_flipped_bit_anywhere_is_found_and_named() {
    let dir = SignedDir::new();
    let places = places(&dir);
    let verify = || run(&["audit", "verify", "--data-dir", dir.text()]);
    assert_eq!(verify().status, 0);
    let mut dice = Dice::new(14);
    #[expect(clippy::disallowed_methods, reason = "the switch for slow tests")]
    let slow = std::env::var_os("SLUICEGATE_SLOW").is_some();
    let sample: Vec<&Place> =
        if slow { places.iter().collect() } else { (0..300).map(|_| dice.pick(&places)).collect() };
    // Rows of the log are few bytes among many: they are looked at in any case.
    let cells = places.iter().filter(|place| matches!(place, Place::Cell { seq: 4, .. }));
    let cells: Vec<&Place> = cells.step_by(if slow { 1 } else { 7 }).collect();
    for place in sample.into_iter().chain(cells) {
        let bit = u32::try_from(dice.below(8)).unwrap();
        place.flip(&dir, bit);
        let ended = verify();
        assert_eq!(ended.status, 1, "bit {bit} of {}: {ended:?}", place.describe());
        if let Place::Cell { seq, .. } = place {
            assert!(
                ended.stderr.contains(&format!("audit entry {seq}: ")),
                "{}: {ended:?}",
                place.describe()
            );
        } else {
            let names = ["record ", "line ", "header", "checkpoint", "sums", "link", "key"];
            assert!(names.iter().any(|name| ended.stderr.contains(name)), "{}: {ended:?}", place.describe());
        }
        place.flip(&dir, bit);
    }
    assert_eq!(verify().status, 0);
}
