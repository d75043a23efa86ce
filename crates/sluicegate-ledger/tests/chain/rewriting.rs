//! Somebody who knows the format changes things on purpose.

use std::fs;

use sluicegate_ledger::Position;
use sluicegate_ledger::chain::{VerifyError, Why};

use crate::fixtures::{Bed, RECORDS, bad, copy, forge, log, segment, verify, verify_with};

#[test]
fn a_record_that_was_rewritten_with_its_checksum_is_named() {
    let original = Bed::with(40).closed();
    // In chained segments, and in the part of the open one that is signed.
    for position in [0, 15, 16, 31, 32, 39] {
        let dir = copy(original.path());
        forge(dir.path(), Position(position));
        let found = bad(dir.path());
        assert_eq!((found.position, &found.why), (Some(Position(position)), &Why::Record));
        assert!(found.to_string().contains(&format!("record {position}:")), "{found}");
    }
}

#[test]
fn the_first_of_several_is_named() {
    let dir = Bed::with(80).closed();
    for position in [70, 35, 21, 50] {
        forge(dir.path(), Position(position));
    }
    assert_eq!(bad(dir.path()).position, Some(Position(21)));
}

#[test]
fn a_segment_that_is_gone_or_swapped_is_named() {
    let original = Bed::with(80).closed();
    let dir = copy(original.path());
    fs::remove_file(segment(dir.path(), 2 * RECORDS)).unwrap();
    let found = bad(dir.path());
    assert_eq!((found.segment, found.why), (Some(Position(2 * RECORDS)), Why::Missing));

    let dir = copy(original.path());
    fs::copy(segment(dir.path(), 0), segment(dir.path(), RECORDS)).unwrap();
    assert_eq!(bad(dir.path()).segment, Some(Position(RECORDS)));
}

#[test]
fn bytes_behind_a_segment_are_found() {
    let dir = Bed::with(40).closed();
    crate::fixtures::change(&segment(dir.path(), 0), |bytes| bytes.push(0));
    assert!(matches!(bad(dir.path()).why, Why::Length { found: 2177, expected: 2176 }));
}

#[test]
fn a_chain_that_was_made_anew_has_another_key() {
    let bed = Bed::with(40);
    let key = bed.chain.public_key();
    let dir = bed.closed();
    forge(dir.path(), Position(3));
    fs::remove_dir_all(dir.path().join("chain")).unwrap();
    let (spool, mut chain) = crate::fixtures::open(dir.path());
    chain.extend(&spool).unwrap();
    // By itself it proves what it was made of. Who knows the key is not deceived.
    verify(dir.path()).unwrap();
    let Err(VerifyError::Bad(found)) = verify_with(dir.path(), Some(key)) else { unreachable!() };
    assert_eq!(found.why, Why::OtherKey { found: chain.public_key() });
}

#[test]
fn records_that_were_cut_off_behind_the_chain_are_missed() {
    let dir = Bed::with(40).closed();
    crate::fixtures::change(&segment(dir.path(), 32), |bytes| bytes.truncate(5 * 128));
    let found = bad(dir.path());
    assert_eq!((found.position, found.why), (Some(Position(36)), Why::Tail));
    fs::remove_file(segment(dir.path(), 32)).unwrap();
    assert_eq!(bad(dir.path()).why, Why::Tail);
}

#[test]
fn lines_that_were_cut_off_are_missed_by_the_checkpoint() {
    let dir = Bed::with(40).closed();
    let text = fs::read_to_string(log(dir.path())).unwrap();
    let (kept, _) = text.trim_end().rsplit_once('\n').unwrap();
    fs::write(log(dir.path()), format!("{kept}\n")).unwrap();
    assert_eq!(bad(dir.path()).why, Why::Shorter);
}

#[test]
fn an_older_checkpoint_proves_less_but_nothing_wrong() {
    let mut bed = Bed::with(40);
    let old = fs::read(bed.dir.path().join("chain/checkpoint")).unwrap();
    bed.append(40);
    bed.checkpoint();
    let dir = bed.closed();
    fs::write(dir.path().join("chain/checkpoint"), old).unwrap();
    // The segment that was open then is chained now.
    assert_eq!(verify(dir.path()).unwrap().checkpoint.unwrap().position, Position(40));
}
