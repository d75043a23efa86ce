//! Segments that were removed by the program are proven to have been; others are missed.

use std::fs;

use sluicegate_ledger::Position;
use sluicegate_ledger::chain::{ChainError, Why};

use crate::fixtures::{Bed, RECORDS, bad, log, now, open, segment, verify};

#[test]
fn what_was_allowed_to_go_may_be_gone() {
    let mut bed = Bed::with(80);
    let before = bed.chain.allow_pruning(Position(40), now()).unwrap();
    // Allowed and not done yet, as after a crash.
    assert_eq!(bed.verify().unwrap().segments, 5);
    bed.spool.forget_before(before).unwrap();
    assert_eq!(bed.chain.drop_sums_before(bed.spool.first()).unwrap(), 2);
    let verified = bed.verify().unwrap();
    assert_eq!((verified.segments, verified.pruned, verified.end), (3, 2, Position(80)));
    // It goes on, and can be opened again.
    bed.append(40);
    bed.checkpoint();
    let dir = bed.closed();
    let (spool, mut chain) = open(dir.path());
    chain.extend(&spool).unwrap();
    assert_eq!(verify(dir.path()).unwrap().end, Position(112));
    // One more than was allowed.
    fs::remove_file(segment(dir.path(), 2 * RECORDS)).unwrap();
    assert_eq!(bad(dir.path()).why, Why::Missing);
}

#[test]
fn only_what_is_chained_may_go() {
    let mut bed = Bed::new();
    assert_eq!(bed.chain.allow_pruning(Position(1_000), now()).unwrap(), Position(0));
    bed.append(40);
    bed.checkpoint();
    assert_eq!(bed.chain.allow_pruning(Position(1_000), now()).unwrap(), Position(32));
    // The same once more says nothing new.
    let length = fs::metadata(log(bed.dir.path())).unwrap().len();
    assert_eq!(bed.chain.allow_pruning(Position(5), now()).unwrap(), Position(5));
    assert_eq!(fs::metadata(log(bed.dir.path())).unwrap().len(), length);
}

#[test]
fn segments_that_went_before_they_were_chained_are_an_error() {
    let mut bed = Bed::with(20);
    bed.append(60);
    bed.spool.forget_before(Position(48)).unwrap();
    let error = bed.chain.extend(&bed.spool).unwrap_err();
    assert!(matches!(error, ChainError::Gap { end: Position(16), first: Position(48) }), "{error}");
}

#[test]
fn a_chain_may_begin_in_the_middle_of_a_spool() {
    let bed = Bed::new();
    bed.append(60);
    bed.spool.forget_before(Position(32)).unwrap();
    let mut bed = bed;
    bed.checkpoint();
    let verified = bed.verify().unwrap();
    assert_eq!((verified.segments, verified.end, verified.position()), (1, Position(48), Position(60)));
}
