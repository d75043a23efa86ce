//! Records, spools and waiting, for all tests here.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{
    BilledPrint, Flags, Idempotency, Kind, Position, ReadReport, Record, Settlement, Spool, SpoolSettings,
    Unit,
};

/// A record that says of all its fields which one it is.
pub(crate) fn record(number: u64) -> Record {
    let at = Timestamp::from_nanos(1_790_000_000_000_000_000 + number);
    Record {
        kind: [Kind::Charge, Kind::Refund, Kind::Correction][(number % 3) as usize],
        at,
        charged_at: Timestamp::from_nanos(at.as_nanos() - number % 7),
        decision: u128::from(number) << 70 | 5,
        home: HomeId(!u128::from(number)),
        account: number ^ 0xff,
        key: number.rotate_left(32),
        key_number: (number % 11) as u32,
        route: (number % 13) as u32,
        tier: (number % 17) as u32,
        env: KeyEnv::Live,
        unit: Unit::Requests,
        cost: number,
        overage: number / 2,
        idempotency: number.is_multiple_of(2).then_some(Idempotency { key: number, request: number / 4 }),
        flags: if number.is_multiple_of(5) { Flags::LATE | Flags::DEGRADED } else { Flags::NONE },
        settlement: Settlement::default(),
        billed: BilledPrint::NOTHING,
    }
}

pub(crate) fn settings(segment_records: u32) -> SpoolSettings {
    SpoolSettings { segment_records, flush_every: Duration::from_millis(1) }
}

pub(crate) fn open(dir: &Path, segment_records: u32) -> Spool {
    Spool::open(dir, settings(segment_records)).unwrap()
}

/// Appends a record, waiting for room.
pub(crate) fn append(spool: &Spool, record: &Record) -> Position {
    loop {
        if let Ok(reservation) = spool.reserve() {
            return reservation.append(record);
        }
        std::thread::yield_now();
    }
}

/// Appends the records of these numbers.
pub(crate) fn append_all(spool: &Spool, numbers: std::ops::Range<u64>) {
    for number in numbers {
        append(spool, &record(number));
    }
}

/// The numbers of all records by their positions, and what reading came to. Each must be as it was appended.
pub(crate) fn read(spool: &Spool, from: Position) -> (Vec<(u64, u64)>, ReadReport) {
    let mut found = Vec::new();
    let report = spool.read(from, |position, it| {
        assert_eq!(*it, record(it.cost));
        found.push((position.0, it.cost));
    });
    (found, report.unwrap())
}

/// Reads everything, expects neither holes nor torn slots, and gives the numbers in order.
#[track_caller]
pub(crate) fn numbers(spool: &Spool) -> Vec<u64> {
    let (found, report) = read(spool, spool.first());
    assert_eq!((report.holes, report.torn, report.next), (0, 0, spool.tail()));
    assert!(found.iter().map(|(position, _)| *position).eq(spool.first().0..spool.tail().0));
    found.into_iter().map(|(_, number)| number).collect()
}

/// The segments, in order.
pub(crate) fn segments(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "seg")).collect();
    paths.sort();
    paths
}

/// What a crash would leave at this moment.
pub(crate) fn image(dir: &Path, to: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match fs::copy(&path, to.join(path.file_name().unwrap())) {
            // A segment that got its name just now: it had another when the directory was read.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => drop(copied.unwrap()),
        }
    }
    // Of two segments that were named meanwhile the directory may have shown the later one only.
    let mut end = 0;
    for path in segments(to) {
        let first: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        if first > end && end > 0 {
            fs::remove_file(path).unwrap();
        } else {
            end = first + path.metadata().unwrap().len() / 128 - 1;
        }
    }
}

/// Waits until it is so, ten seconds at most.
#[track_caller]
pub(crate) fn eventually(mut it: impl FnMut() -> bool) {
    let pause = || {
        std::thread::park_timeout(Duration::from_millis(1));
        false
    };
    assert!((0..10_000).any(|_| it() || pause()), "it did not come to pass");
}
