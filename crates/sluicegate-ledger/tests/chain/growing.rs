//! A chain that grows with its spool, and proves what is there.

use sluicegate_ledger::Position;
use sluicegate_ledger::chain::{Chain, ChainError, Digest, VerifyError, Why};

use crate::fixtures::{Bed, RECORDS, bad, change, log, open, segment, verify, verify_with};

#[test]
fn full_segments_are_chained_and_the_open_one_is_signed() {
    let mut bed = Bed::new();
    let verified = bed.verify().unwrap();
    assert_eq!((verified.segments, verified.position()), (0, Position(0)));
    for round in 1..=4 {
        bed.append(RECORDS + 3);
        let extended = bed.chain.extend(&bed.spool).unwrap();
        let full = (RECORDS + 3) * round / RECORDS;
        assert_eq!(extended.end, Position(full * RECORDS));
        let verified = bed.verify().unwrap();
        assert_eq!((verified.segments, verified.end), (full, Position(full * RECORDS)));
        bed.checkpoint();
        let verified = bed.verify().unwrap();
        assert_eq!(verified.position(), Position((RECORDS + 3) * round));
        assert_eq!(verified.checkpoint.unwrap().audit.link, Digest::of(b"nine"));
    }
}

#[test]
fn a_chain_goes_on_where_it_ended() {
    let Bed { dir, spool, chain } = Bed::with(40);
    let key = chain.public_key();
    drop((spool, chain));
    let (spool, chain) = open(dir.path());
    assert_eq!((chain.public_key(), chain.end()), (key, Position(32)));
    let mut bed = Bed { dir, spool, chain };
    bed.append(40);
    bed.checkpoint();
    let verified = verify_with(bed.dir.path(), Some(key)).unwrap();
    assert_eq!((verified.segments, verified.position()), (5, Position(80)));
}

#[test]
fn holes_are_chained_as_they_are_and_counted() {
    let bed = Bed::new();
    bed.append(20);
    let dir = bed.closed();
    // Whoever was to write these was killed.
    change(&segment(dir.path(), 0), |bytes| bytes[5 * 128..7 * 128].fill(0));
    let (spool, mut chain) = open(dir.path());
    chain.extend(&spool).unwrap();
    assert_eq!(verify(dir.path()).unwrap().incomplete, 2);
    change(&segment(dir.path(), 0), |bytes| bytes[5 * 128 + 9] = 1);
    assert_eq!(bad(dir.path()).position, Some(Position(4)));
}

#[test]
fn a_line_that_was_cut_is_bad_until_the_chain_is_opened_again() {
    let dir = Bed::with(40).closed();
    std::fs::remove_file(dir.path().join("chain/checkpoint")).unwrap();
    change(&log(dir.path()), |bytes| bytes.truncate(bytes.len() - 20));
    let found = bad(dir.path());
    assert_eq!((found.line, found.why), (Some(3), Why::Cut));
    let (spool, mut chain) = open(dir.path());
    assert_eq!(chain.end(), Position(16));
    chain.extend(&spool).unwrap();
    assert_eq!(verify(dir.path()).unwrap().segments, 2);
}

#[test]
fn a_damaged_chain_is_not_gone_on_with() {
    let dir = Bed::with(40).closed();
    change(&log(dir.path()), |bytes| bytes[100] ^= 1);
    let error = Chain::open(&dir.path().join("chain")).unwrap_err();
    assert!(matches!(error, ChainError::Damaged { line: 1, .. }), "{error}");
}

#[test]
fn the_key_is_made_once_and_only_its_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Bed::with(20).closed();
    let key = dir.path().join("chain/chain.key");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&key, "nonsense").unwrap();
    let error = Chain::open(&dir.path().join("chain")).unwrap_err();
    assert!(matches!(error, ChainError::Key { .. }), "{error}");
    // Another key cannot go on with what the first has signed.
    std::fs::remove_file(&key).unwrap();
    let error = Chain::open(&dir.path().join("chain")).unwrap_err();
    assert!(matches!(error, ChainError::Damaged { line: 1, .. }), "{error}");
    // What was signed is still proven.
    assert_eq!(verify(dir.path()).unwrap().segments, 1);
}

#[test]
fn a_chain_that_was_taken_away_is_missed() {
    let bed = Bed::with(40);
    let key = bed.chain.public_key();
    let dir = bed.closed();
    std::fs::remove_file(log(dir.path())).unwrap();
    assert_eq!(bad(dir.path()).why, Why::Missing);
    std::fs::remove_dir_all(dir.path().join("chain")).unwrap();
    assert_eq!(verify(dir.path()).unwrap().key, None);
    assert!(matches!(verify_with(dir.path(), Some(key)), Err(VerifyError::Bad(_))));
}
