//! What the table of blocks promises.

use sluicegate_core::block::{Block, Caller, Origin, Reason};
use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_core::policy::{AppliesTo, Blocks};
use sluicegate_core::time::{Nanos, Timestamp, Window};

use super::BlockTable;

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const BLOCKS: Blocks = Blocks {
    applies_to: AppliesTo::Clients,
    after: 10,
    within: Window::MINUTE,
    first: Nanos::from_secs(60),
    max: Nanos::from_secs(300),
};

fn after(secs: u32) -> Timestamp {
    START.plus(Nanos::from_secs(secs))
}

/// A client with a home spread as a keyed hash would.
fn client(number: u64) -> Caller {
    let half = |salt: u64| u128::from((number + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Caller::client(HomeId(half(1) << 64 | half(1 << 40)))
}

fn manual(caller: Caller, since: Timestamp, until: Timestamp) -> Block {
    Block { caller, since, until, origin: Origin::Manual, reason: Reason::new("scrapes").ok() }
}

#[test]
fn a_block_ends_by_itself() {
    let table = BlockTable::default();
    assert_eq!(table.is_blocked(client(1), START), None);
    let block = table.block(client(1), START, &BLOCKS);
    assert_eq!((block.since, block.until, block.origin), (START, after(60), Origin::Automatic));
    assert_eq!(table.is_blocked(client(1), START), Some(after(60)));
    assert_eq!(table.is_blocked(client(2), START), None);
    assert_eq!(table.is_blocked(client(1), after(60)), None);
    assert_eq!((table.count(START), table.count(after(60))), (1, 0));
}

#[test]
fn each_further_block_lasts_twice_as_long_up_to_the_most() {
    let table = BlockTable::default();
    let mut now = START;
    for length in [60, 120, 240, 300, 300] {
        let block = table.block(client(1), now, &BLOCKS);
        assert_eq!(block.until.since(now), Nanos::from_secs(length));
        now = block.until.plus(Nanos::from_secs(299));
    }
    now = now.plus(Nanos::from_secs(1));
    assert_eq!(table.block(client(1), now, &BLOCKS).until.since(now), BLOCKS.first);
}

#[test]
fn two_refusals_at_once_are_one_block() {
    let table = BlockTable::default();
    let first = table.block(client(1), START, &BLOCKS);
    assert_eq!(table.block(client(1), after(1), &BLOCKS), first);
}

#[test]
fn keys_of_an_account_are_blocked_one_by_one() {
    let table = BlockTable::default();
    let home = HomeId(77);
    let key = |number: u32| Caller::key(home, Sharer::key(number.try_into().unwrap()));
    table.block(key(1), START, &BLOCKS);
    assert!(table.is_blocked(key(1), START).is_some());
    assert_eq!(table.is_blocked(key(2), START), None);
    assert_eq!(table.is_blocked(Caller::client(home), START), None);
}

#[test]
fn a_lifted_block_is_gone_and_forgotten() {
    let table = BlockTable::default();
    let block = table.block(client(1), START, &BLOCKS);
    assert_eq!(table.lift(client(1), after(1)), Some(block));
    assert_eq!(table.lift(client(1), after(1)), None);
    assert_eq!(table.is_blocked(client(1), after(1)), None);
    assert_eq!(table.block(client(1), after(1), &BLOCKS).until, after(61));
    assert_eq!(table.lift(client(1), after(61)), None);
}

#[test]
fn what_was_said_last_stays() {
    let table = BlockTable::default();
    let caller = client(1);
    table.put(manual(caller, after(10), after(1_000)));
    // An older one that arrives late changes nothing; a newer one that is shorter does.
    table.put(manual(caller, START, after(9_000)));
    assert_eq!(table.is_blocked(caller, after(10)), Some(after(1_000)));
    table.put(manual(caller, after(20), after(50)));
    assert_eq!(table.is_blocked(caller, after(20)), Some(after(50)));
    table.put(manual(caller, after(20), after(70)));
    table.put(manual(caller, after(20), after(60)));
    assert_eq!(table.is_blocked(caller, after(20)), Some(after(70)));
    assert_eq!(table.find(caller, after(20)).unwrap().reason.unwrap().as_str(), "scrapes");
}

#[test]
fn another_nodes_block_doubles_here_and_an_administrators_does_not() {
    let table = BlockTable::default();
    let theirs = BlockTable::default().block(client(1), START, &BLOCKS);
    table.put(theirs);
    table.put(manual(client(2), START, after(60)));
    assert_eq!(table.block(client(1), after(61), &BLOCKS).until, after(61 + 120));
    assert_eq!(table.block(client(2), after(61), &BLOCKS).until, after(61 + 60));
}

#[test]
fn blocks_are_listed_in_pages() {
    let table = BlockTable::default();
    let mut callers: Vec<Caller> = (0..1_000).map(client).collect();
    for caller in &callers {
        table.block(*caller, START, &BLOCKS);
    }
    callers.sort();
    let mut found: Vec<Caller> = Vec::new();
    loop {
        let page = table.list(found.last().copied(), START, 7);
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 7);
        found.extend(page.iter().map(|block| block.caller));
    }
    assert_eq!(found, callers);
    assert_eq!(table.list(None, after(60), 7), []);
}

#[test]
fn a_full_table_lets_go_what_ends_first() {
    let table = BlockTable::new(640);
    for number in 0..10_000 {
        table.block(client(number), START.plus(Nanos(number)), &BLOCKS);
    }
    let kept = table.count(after(1));
    assert!((500..=640).contains(&kept), "{kept}");
    assert!(table.is_blocked(client(9_999), after(1)).is_some());
    assert_eq!(table.is_blocked(client(0), after(1)), None);
}
