//! Damaged segments: no panic, and no total that is wrong without saying so.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use sluicegate_ledger::Spool;
use sluicegate_ledger::usage::{Book, Query};

use crate::fixtures::{Bed, at, charge, scratch, settings};

const RECORDS: u64 = 200;
const SLOT: usize = 128;

#[derive(Clone, Debug)]
enum Harm {
    Flip { byte: usize, bit: u8 },
    Zero { from: usize, length: usize },
    Garbage { from: usize, bytes: Vec<u8> },
    Cut { to: usize },
}

fn harms() -> impl Strategy<Value = Harm> {
    let byte = 0..65 * SLOT;
    prop_oneof![
        6 => (byte.clone(), 0..8u8).prop_map(|(byte, bit)| Harm::Flip { byte, bit }),
        2 => (byte.clone(), 1..4096usize).prop_map(|(from, length)| Harm::Zero { from, length }),
        1 => (byte.clone(), proptest::collection::vec(any::<u8>(), 1..600))
            .prop_map(|(from, bytes)| Harm::Garbage { from, bytes }),
        1 => byte.prop_map(|to| Harm::Cut { to }),
    ]
}

impl Harm {
    fn hurt(&self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        match self {
            Self::Flip { byte, bit } => bytes[*byte] ^= 1 << bit,
            Self::Zero { from, length } => {
                let end = bytes.len().min(from + length);
                bytes[*from..end].fill(0);
            }
            Self::Garbage { from, bytes: garbage } => {
                for (byte, wrong) in bytes[*from..].iter_mut().zip(garbage) {
                    *byte = *wrong;
                }
            }
            Self::Cut { to } => bytes.truncate(*to),
        }
        fs::write(path, bytes).unwrap();
    }
}

/// The cost of the record at a position says which one it is.
fn cost(position: u64) -> u64 {
    1 << (position % 40)
}

/// Four segments: three full ones and one with eight records.
fn filled() -> tempfile::TempDir {
    let bed = Bed::new();
    for position in 0..RECORDS {
        bed.append(&charge(at(0, 0), position % 7, cost(position)));
    }
    let Bed { spool, dir, .. } = bed;
    spool.close().unwrap();
    dir
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// What is still whole, and whether the program said that something is not.
#[expect(clippy::panic, reason = "a test")]
fn check(original: &Path, segment: usize, harm: &Harm) {
    let dir = scratch();
    copy(&original.join("spool"), dir.path());
    let path = dir.path().join(format!("{:020}.seg", segment * 64));
    harm.hurt(&path);
    // Refusing to start is loud enough.
    let Ok(spool) = Spool::open(dir.path(), settings()) else { return };
    let mut whole = 0;
    let report = spool.read(spool.first(), |position, record| {
        assert_eq!(*record, charge(at(0, 0), position.0 % 7, cost(position.0)), "a record that never was");
        whole += i128::from(record.cost);
    });
    let Ok(report) = report else { return };
    let book = Book::open(&dir.path().join("usage.db")).unwrap();
    let Ok(rolled) = book.roll(&spool) else { return };
    let usage = book.query(&spool, &Query::default()).unwrap();
    assert_eq!(usage.sums.total(), whole, "{harm:?}");
    assert_eq!((rolled.torn, rolled.holes, usage.torn), (report.torn, report.holes, report.torn));
    let all: i128 = (0..RECORDS).map(|position| i128::from(cost(position))).sum();
    if whole != all && report.torn + report.holes == 0 && report.next.0 >= RECORDS {
        panic!("{harm:?} in segment {segment}: {whole} instead of {all}, and nobody said so");
    }
}

fn rounds() -> u32 {
    #[expect(clippy::disallowed_methods, reason = "the switch for slow tests")]
    let slow = std::env::var_os("SLUICEGATE_SLOW").is_some();
    if slow { 100 } else { 10 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), ..ProptestConfig::default() })]

    /// Ten times a hundred; with `SLUICEGATE_SLOW=1` a hundred times.
    #[test]
    fn a_thousand_damaged_segments_give_no_wrong_total_in_silence(
        harms in proptest::collection::vec((0..4usize, harms()), 100),
    ) {
        let original = filled();
        for (segment, harm) in &harms {
            check(original.path(), *segment, harm);
        }
    }
}
