//! The table of blocks against a plain map, and from many threads at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use sluicegate_core::block::{Block, Caller, Origin};
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::{AppliesTo, Blocks};
use sluicegate_core::time::{Nanos, Timestamp, Window};

use super::BlockTable;

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Block(usize),
    Put(usize, u64, u64, Origin),
    Lift(usize),
    KeepOnly(BTreeSet<usize>),
}

fn steps(callers: usize) -> impl Strategy<Value = Vec<Step>> {
    let origin = prop_oneof![Just(Origin::Automatic), Just(Origin::Manual)];
    let put = (0..callers, 0_u64..50, 1_u64..400, origin);
    let step = prop_oneof![
        6 => (0_u64..200).prop_map(Step::Pass),
        6 => (0..callers).prop_map(Step::Block),
        2 => put.prop_map(|(who, ago, lasts, origin)| Step::Put(who, ago, lasts, origin)),
        1 => (0..callers).prop_map(Step::Lift),
        1 => prop::collection::btree_set(0..callers, 0..callers).prop_map(Step::KeepOnly),
    ];
    prop::collection::vec(step, 1..200)
}

fn secs(secs: u64) -> Nanos {
    Nanos(secs * 1_000_000_000)
}

/// The last block of each caller, and how long the last one was that it earned.
#[derive(Default)]
struct Model(BTreeMap<Caller, (Block, Option<Nanos>)>);

impl Model {
    fn block(&mut self, caller: Caller, now: Timestamp, blocks: &Blocks) -> Block {
        let mut length = blocks.first;
        if let Some((block, earned)) = self.0.get(&caller) {
            if block.until > now {
                return block.clone();
            }
            if let Some(earned) = earned.filter(|_| block.until.plus(blocks.max) > now) {
                length = Nanos(2 * earned.0);
            }
        }
        let length = length.max(blocks.first).min(blocks.max);
        let block =
            Block { caller, since: now, until: now.plus(length), origin: Origin::Automatic, reason: None };
        self.0.insert(caller, (block.clone(), Some(length)));
        block
    }

    fn put(&mut self, block: Block) {
        let old = self.0.get(&block.caller);
        if old.is_some_and(|(old, _)| (old.since, old.until) > (block.since, block.until)) {
            return;
        }
        let earned = match block.origin {
            Origin::Automatic => Some(block.until.since(block.since)),
            Origin::Manual => None,
        };
        self.0.insert(block.caller, (block, earned));
    }

    fn in_force(&self, now: Timestamp) -> Vec<Block> {
        self.0.values().map(|(block, _)| block.clone()).filter(|block| block.until > now).collect()
    }
}

proptest! {
    #[test]
    fn the_table_is_a_map_with_room_for_everybody(
        homes in prop::collection::btree_set(any::<u128>(), 8),
        first in 1_u64..60,
        max in 60_u64..300,
        steps in steps(8),
    ) {
        let callers: Vec<Caller> = homes.into_iter().map(|home| Caller::client(HomeId(home))).collect();
        let blocks = Blocks {
            applies_to: AppliesTo::All,
            after: 1,
            within: Window::MINUTE,
            first: secs(first),
            max: secs(max),
        };
        let (table, mut model, mut now) = (BlockTable::default(), Model::default(), START);
        for step in steps {
            match step {
                Step::Pass(length) => now = now.plus(secs(length)),
                Step::Block(who) => {
                    let expected = model.block(callers[who], now, &blocks);
                    prop_assert_eq!(table.block(callers[who], now, &blocks), expected);
                }
                Step::Put(who, ago, lasts, origin) => {
                    let since = Timestamp::from_nanos(now.as_nanos() - secs(ago).0);
                    let until = since.plus(secs(lasts));
                    let block = Block { caller: callers[who], since, until, origin, reason: None };
                    table.put(block.clone());
                    model.put(block);
                }
                Step::Lift(who) => {
                    let lifted = model.0.remove(&callers[who]).map(|(block, _)| block);
                    let expected = lifted.filter(|block| block.until > now);
                    prop_assert_eq!(table.lift(callers[who], now), expected);
                }
                Step::KeepOnly(who) => {
                    let keep: BTreeSet<Caller> = who.into_iter().map(|who| callers[who]).collect();
                    table.keep_only(&keep, now);
                    model.0.retain(|caller, (block, _)| block.until <= now || keep.contains(caller));
                }
            }
            let in_force = model.in_force(now);
            for caller in &callers {
                let until = in_force.iter().find(|block| block.caller == *caller).map(|block| block.until);
                prop_assert_eq!(table.is_blocked(*caller, now), until);
            }
            prop_assert_eq!(table.count(now), in_force.len());
            prop_assert_eq!(table.list(None, now, 100), in_force);
        }
    }
}

#[test]
fn whoever_sees_that_somebody_was_blocked_sees_the_block() {
    let blocks = Blocks {
        applies_to: AppliesTo::All,
        after: 1,
        within: Window::MINUTE,
        first: secs(60),
        max: secs(60),
    };
    for round in 0..200_u128 {
        let (table, done) = (BlockTable::default(), AtomicBool::new(false));
        let callers: Vec<Caller> =
            (0..8).map(|at| Caller::client(HomeId((round * 8 + at) << 120 | at))).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for caller in &callers {
                    table.block(*caller, START, &blocks);
                }
                done.store(true, Ordering::Release);
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut seen = 0;
                    loop {
                        let was_done = done.load(Ordering::Acquire);
                        let blocked =
                            callers.iter().filter(|caller| table.is_blocked(**caller, START).is_some());
                        let blocked = blocked.count();
                        assert!(blocked >= seen, "a block that was seen is gone");
                        seen = blocked;
                        if was_done {
                            assert_eq!(blocked, callers.len());
                            break;
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn many_who_block_and_lift_leave_what_was_done_last() {
    let table = BlockTable::default();
    let caller = |thread: u64, number: u64| {
        Caller::client(HomeId(
            u128::from((thread * 1_000 + number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 64,
        ))
    };
    let block = |caller| Block {
        caller,
        since: START,
        until: START.plus(secs(60)),
        origin: Origin::Manual,
        reason: None,
    };
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let table = &table;
            scope.spawn(move || {
                for number in 0..1_000 {
                    table.put(block(caller(thread, number)));
                    if number % 2 == 0 {
                        table.lift(caller(thread, number), START);
                    }
                }
            });
        }
    });
    assert_eq!(table.count(START), 8 * 500);
    let blocked = |number| (0..8).all(|thread| table.is_blocked(caller(thread, number), START).is_some());
    assert!((0..1_000).all(|number| blocked(number) == (number % 2 == 1)));
}
