//! Records, spools and books, for all tests here.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::quarter::quarters_of;
use sluicegate_ledger::usage::{Book, Query, Usage};
use sluicegate_ledger::{
    BilledPrint, Flags, Hour, Kind, Position, Quarter, Record, Settlement, Spool, SpoolSettings, Unit,
};

/// 2026-09-21T13:00:00Z.
pub(crate) const NOON: u32 = 1_789_995_600;

pub(crate) fn hour(number: u32) -> Hour {
    Hour::of(at(number, 0))
}

/// All quarters from one hour to another.
pub(crate) fn quarters(from: u32, to: u32) -> Range<Quarter> {
    quarters_of(&(hour(from)..hour(to)))
}

/// The first quarter of an hour.
pub(crate) fn start(number: u32) -> Quarter {
    Quarter::first_of(hour(number))
}

/// So many seconds into an hour, counted from the first of these tests.
pub(crate) fn at(hour: u32, second: u32) -> Timestamp {
    Timestamp::from_secs(NOON + hour * 3_600 + second)
}

/// What one unit costs an account at an instant.
pub(crate) fn charge(at: Timestamp, account: u64, cost: u64) -> Record {
    Record {
        kind: Kind::Charge,
        at,
        charged_at: at,
        decision: 7,
        home: HomeId(u128::from(account)),
        account,
        key: account * 10,
        key_number: 1,
        route: 3,
        tier: 4,
        env: KeyEnv::Live,
        unit: Unit::Requests,
        cost,
        overage: 0,
        idempotency: None,
        flags: Flags::NONE,
        settlement: Settlement::default(),
        billed: BilledPrint::NOTHING,
    }
}

pub(crate) struct Bed {
    pub(crate) book: Book,
    pub(crate) spool: Spool,
    pub(crate) dir: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (book, spool) = open(dir.path());
        Self { book, spool, dir }
    }

    /// As a process that was started anew finds it.
    pub(crate) fn reopened(self) -> Self {
        let Self { book, spool, dir } = self;
        drop((book, spool));
        let (book, spool) = open(dir.path());
        Self { book, spool, dir }
    }

    pub(crate) fn append(&self, record: &Record) -> Position {
        append(&self.spool, record)
    }

    /// Sends all to disk and counts it.
    #[track_caller]
    pub(crate) fn roll(&self) {
        self.spool.flush().unwrap();
        assert_eq!(self.book.roll(&self.spool).unwrap().position, self.spool.tail());
    }

    #[track_caller]
    pub(crate) fn usage(&self, query: &Query) -> Usage {
        self.book.query(&self.spool, query).unwrap()
    }

    #[track_caller]
    pub(crate) fn total(&self) -> i128 {
        self.usage(&Query::default()).sums.total()
    }
}

pub(crate) fn open(dir: &Path) -> (Book, Spool) {
    (Book::open(&dir.join("usage.db")).unwrap(), open_spool(&dir.join("spool")))
}

pub(crate) fn settings() -> SpoolSettings {
    SpoolSettings { segment_records: 64, flush_every: Duration::from_millis(1) }
}

pub(crate) fn open_spool(dir: &Path) -> Spool {
    Spool::open(dir, settings()).unwrap()
}

/// A folder in memory where the system has such a place: for tests that are not about a disk.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
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
