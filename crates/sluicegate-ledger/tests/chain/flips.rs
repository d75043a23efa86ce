//! One flipped bit, wherever it is, is found; in a record, the record is named.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::Index;
use sluicegate_ledger::Position;
use sluicegate_ledger::chain::{VerifyError, Why};

use crate::fixtures::{Bed, RECORDS, SLOT, bad, change, copy, log, segment, verify};

const APPENDED: u64 = 5 * RECORDS + 7;

/// Every file that is proven, with how many of its bytes are.
fn proven(dir: &std::path::Path) -> Vec<(PathBuf, usize)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir.join("chain")).unwrap() {
        let path = entry.unwrap().path();
        // The key proves and is not proven.
        if path.extension().is_none_or(|it| it != "key") {
            let length = fs::metadata(&path).unwrap().len();
            files.push((path, usize::try_from(length).unwrap()));
        }
    }
    for first in (0..5).map(|number| number * RECORDS) {
        files.push((segment(dir, first), (usize::try_from(RECORDS).unwrap() + 1) * SLOT));
    }
    // The open segment up to the checkpoint.
    files.push((segment(dir, 5 * RECORDS), 8 * SLOT));
    files.sort();
    files
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    /// Ten times a hundred.
    #[test]
    fn a_thousand_flipped_bits_are_found(
        flips in proptest::collection::vec((any::<Index>(), any::<Index>(), 0..8u8), 100),
    ) {
        let dir = Bed::with(APPENDED).closed();
        let files = proven(dir.path());
        prop_assert!(verify(dir.path()).is_ok());
        for (file, byte, bit) in flips {
            let (path, length) = &files[file.index(files.len())];
            let byte = byte.index(*length);
            change(path, |bytes| bytes[byte] ^= 1 << bit);
            let found = bad(dir.path());
            if let Some(first) = found.segment.filter(|_| path.extension().is_some_and(|it| it == "seg")) {
                prop_assert_eq!(&found.file, path);
                if byte >= SLOT {
                    let position = first.0 + (byte / SLOT) as u64 - 1;
                    prop_assert_eq!((found.position, found.why), (Some(Position(position)), Why::Record));
                } else {
                    prop_assert_eq!((found.position, found.why), (None, Why::Header));
                }
            }
            change(path, |bytes| bytes[byte] ^= 1 << bit);
        }
        prop_assert!(verify(dir.path()).is_ok());
    }

    /// Ten times a hundred.
    #[test]
    fn a_thousand_torn_files_are_found(
        cuts in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<bool>()), 100),
    ) {
        let dir = Bed::with(APPENDED).closed();
        let files = proven(dir.path());
        for (file, byte, is_cut) in cuts {
            let (path, length) = &files[file.index(files.len())];
            let byte = byte.index(*length);
            let before = fs::read(path).unwrap();
            // Cut off, or as long as it was and zero from there on.
            change(path, |bytes| if is_cut { bytes.truncate(byte) } else { bytes[byte..].fill(0) });
            let is_same = fs::read(path).unwrap() == before;
            match verify(dir.path()) {
                Ok(_) => prop_assert!(is_same, "{path:?} from {byte} on, cut: {is_cut}"),
                Err(VerifyError::Bad(_)) => prop_assert!(!is_same),
                Err(other) => prop_assert!(false, "{other}"),
            }
            fs::write(path, before).unwrap();
        }
    }
}

#[test]
fn the_end_of_the_last_line_is_proven_too() {
    let dir = Bed::with(APPENDED).closed();
    let copied = copy(dir.path());
    fs::remove_file(copied.path().join("chain/checkpoint")).unwrap();
    change(&log(copied.path()), |bytes| {
        let last = bytes.len() - 1;
        bytes[last] = b' ';
    });
    assert_eq!(bad(copied.path()).why, Why::Cut);
}
