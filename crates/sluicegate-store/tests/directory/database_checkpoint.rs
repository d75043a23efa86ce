//! Checkpoints: what was saved is what is loaded, whole.

use rusqlite::Connection;
use sluicegate_core::time::Timestamp;
use sluicegate_store::database::{
    Checkpoint, Database, FinishedRow, HeldRow, IdempotencyRow, MeterRow, PermitRows,
};

use crate::room::{Folder, time};

const DAY: u32 = 24 * 60 * 60;

#[derive(Default, PartialEq, Eq, Debug)]
struct Loaded {
    limits: Vec<(u32, Vec<u8>)>,
    meters: Vec<MeterRow>,
    idempotency: Vec<IdempotencyRow>,
    position: u64,
}

fn load(database: &Database) -> Loaded {
    let mut loaded = Loaded::default();
    let (limits, meters, repeats) = (&mut loaded.limits, &mut loaded.meters, &mut loaded.idempotency);
    let position = database.load_checkpoint(
        |number, image| limits.push((number, image.to_vec())),
        |row| {
            let MeterRow { home, position, expires_at, image } = row;
            meters.push(MeterRow { home, position, expires_at, image: image.to_vec() });
        },
        |row| repeats.push(row),
    );
    loaded.position = position.unwrap();
    loaded
}

fn meter(home: u128, position: u64, expires_at: Timestamp) -> MeterRow {
    MeterRow { home, position, expires_at, image: position.to_le_bytes().to_vec() }
}

fn repeat(home: u128, key: u64, at: Timestamp) -> IdempotencyRow {
    IdempotencyRow { home, key, request: key ^ u64::MAX, decision: home ^ u128::MAX, at, cost: u64::MAX }
}

#[test]
fn a_new_database_has_none() {
    let folder = Folder::new();
    assert_eq!(load(&Database::open(&folder.path()).unwrap()), Loaded::default());
}

#[test]
fn what_was_saved_is_loaded_to_the_last_bit() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    let mut checkpoint = Checkpoint {
        limits: vec![(2, vec![]), (1, vec![1, 2, 3])],
        meters: vec![
            meter(u128::MAX, u64::MAX, Timestamp::MAX),
            meter(0, 0, time(1)),
            meter(1 << 127, 1, time(2)),
            meter((1 << 127) - 1, 7, time(3)),
        ],
        idempotency: vec![repeat(u128::MAX, u64::MAX, time(0)), repeat(5, 0, time(0)), repeat(5, 1, time(0))],
        permits: PermitRows::default(),
        position: u64::MAX,
        now: time(0),
    };
    database.save_checkpoint(checkpoint.clone()).wait().unwrap();
    drop(database);
    let loaded = load(&Database::open(&folder.path()).unwrap());
    checkpoint.limits.sort_unstable();
    checkpoint.meters.sort_unstable_by_key(|row| row.home);
    let mut idempotency = loaded.idempotency;
    idempotency.sort_unstable_by_key(|row| (row.home, row.key));
    checkpoint.idempotency.sort_unstable_by_key(|row| (row.home, row.key));
    assert_eq!(loaded.limits, checkpoint.limits);
    assert_eq!(loaded.meters, checkpoint.meters);
    assert_eq!(idempotency, checkpoint.idempotency);
    assert_eq!(loaded.position, u64::MAX);
}

#[test]
fn the_next_one_adds_and_replaces_and_forgets_what_expired() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    let first = Checkpoint {
        limits: vec![(1, vec![1])],
        meters: vec![meter(1, 1, time(10)), meter(2, 1, time(11)), meter(3, 1, time(10))],
        idempotency: vec![repeat(1, 1, time(0)), repeat(1, 2, time(1))],
        permits: PermitRows::default(),
        position: 1,
        now: time(0),
    };
    database.save_checkpoint(first).wait().unwrap();
    let second = Checkpoint {
        limits: vec![(2, vec![2])],
        meters: vec![meter(3, 2, time(DAY + 1)), meter(4, 2, time(5))],
        idempotency: vec![repeat(2, 1, time(2))],
        permits: PermitRows::default(),
        position: 2,
        now: time(10),
    };
    database.save_checkpoint(second).wait().unwrap();
    let loaded = load(&database);
    assert_eq!(loaded.limits, [(1, vec![1]), (2, vec![2])]);
    // What expires at 10 says nothing at 10; what had expired before it was saved never does.
    assert_eq!(loaded.meters, [meter(2, 1, time(11)), meter(3, 2, time(DAY + 1))]);
    assert_eq!((loaded.idempotency.len(), loaded.position), (3, 2));
    // A repeat within 24 hours is not charged again; after that it is forgotten.
    let third = Checkpoint { position: 3, now: time(DAY), ..Checkpoint::default() };
    database.save_checkpoint(third).wait().unwrap();
    let left: Vec<_> = load(&database).idempotency.iter().map(|row| (row.home, row.key)).collect();
    assert_eq!(left, [(1, 2), (2, 1)]);
}

#[test]
fn a_checkpoint_that_fails_half_way_leaves_the_last_one() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    let row = |home, position| meter(home, position, time(10));
    let checkpoint = |position: u64| Checkpoint {
        limits: vec![(1, position.to_le_bytes().to_vec())],
        meters: (0..100).map(|home| row(home, position)).collect(),
        idempotency: vec![repeat(1, position, time(0))],
        permits: PermitRows::default(),
        position,
        now: time(0),
    };
    database.save_checkpoint(checkpoint(1)).wait().unwrap();
    let saved = load(&database);
    // A rule that SQLite checks at the ninety-first row.
    let shell = Connection::open(folder.path()).unwrap();
    shell
        .execute_batch(
            "CREATE TRIGGER stop BEFORE INSERT ON meters WHEN new.home = unhex('0000000000000000000000000000005A') \
             BEGIN SELECT RAISE(ABORT, 'stopped'); END",
        )
        .unwrap();
    let error = database.save_checkpoint(checkpoint(2)).wait().unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
    assert_eq!(load(&database), saved);
    shell.execute_batch("DROP TRIGGER stop").unwrap();
    database.save_checkpoint(checkpoint(3)).wait().unwrap();
    assert_eq!(load(&database).position, 3);
}

#[test]
fn permits_are_saved_with_it_and_the_first_answer_stays() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    let finished = |decision, settled, at| FinishedRow { decision, reserved: 5, settled, at };
    let held = |decision, until| HeldRow {
        decision,
        home: u128::MAX,
        account: u64::MAX,
        key_number: 1,
        route: 2,
        tier: 3,
        until,
    };
    let save = |permits, now| {
        let checkpoint = Checkpoint { permits, now, ..Checkpoint::default() };
        database.save_checkpoint(checkpoint).wait().unwrap();
    };
    let load = || {
        let (mut all_finished, mut all_held) = (Vec::new(), Vec::new());
        let watermark =
            database.load_permits(|row| all_finished.push(row), |row| all_held.push(row)).unwrap();
        (all_finished, all_held, watermark)
    };
    assert_eq!(load(), (Vec::new(), Vec::new(), 0));
    let first = PermitRows {
        finished: vec![finished(1, 2, time(0)), finished(2, 9, time(1))],
        held: vec![held(3, time(50)), held(4, time(10)), held(5, time(50))],
        ..PermitRows::default()
    };
    save(first, time(0));
    let second = PermitRows {
        finished: vec![finished(1, 7, time(2)), finished(3, 5, time(2))],
        held: vec![held(5, time(90))],
        forgotten: vec![2],
        watermark_ms: 77,
    };
    save(second, time(10));
    let expected = vec![finished(1, 2, time(0)), finished(3, 5, time(2))];
    assert_eq!(load(), (expected, vec![held(5, time(90))], 77));
    save(PermitRows::default(), time(2 * DAY));
    assert_eq!(load(), (vec![finished(3, 5, time(2))], Vec::new(), 77));
}
