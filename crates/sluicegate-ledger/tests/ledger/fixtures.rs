//! A ledger with its spool, and names for its numbers, for all tests here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::export::{Named, Names};
use sluicegate_ledger::ledger::{Ledger, LedgerSettings};
use sluicegate_ledger::seal::{Destination, S3Access, Sealer};
use sluicegate_ledger::{
    BilledPrint, Flags, Hour, Kind, Position, Record, Settlement, Spool, SpoolSettings, Unit,
};

/// 2026-09-21T13:00:00Z.
const FIRST: u32 = 1_789_995_600;

pub(crate) fn at(hour: u32, second: u32) -> Timestamp {
    Timestamp::from_secs(FIRST + hour * 3_600 + second)
}

pub(crate) fn hour(number: u32) -> Hour {
    Hour::of(at(number, 0))
}

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
        route: 1,
        tier: 2,
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

/// What the numbers of these tests are called.
pub(crate) fn names() -> Arc<dyn Names> {
    Arc::new(|what: Named| {
        Some(match what {
            Named::Account(serial) => format!("acct_{serial}"),
            Named::Key(serial) => format!("key_{serial}"),
            Named::Route(1) => "convert, \"fast\"".to_owned(),
            Named::Route(number) => format!("route_{number}"),
            Named::Tier(number) => format!("tier_{number}"),
        })
    })
}

pub(crate) fn settings() -> LedgerSettings {
    LedgerSettings {
        node: Some("n1".to_owned()),
        grace: Nanos::ZERO,
        retain_records: Nanos::from_secs(7_200),
        retain_rollups: Nanos::from_secs(36_000),
    }
}

pub(crate) struct Bed {
    pub(crate) ledger: Ledger,
    pub(crate) spool: Spool,
    pub(crate) dir: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (ledger, spool) = open(dir.path());
        Self { ledger, spool, dir }
    }

    /// Three accounts in each of so many hours, which are closed.
    pub(crate) fn with_hours(hours: u32) -> Self {
        let bed = Self::new();
        bed.fill(0..hours);
        bed
    }

    pub(crate) fn fill(&self, hours: std::ops::Range<u32>) {
        let end = hours.end;
        for number in hours {
            for account in 1..=3 {
                for _ in 0..7 {
                    append(&self.spool, &charge(at(number, 5), account, u64::from(number) + account));
                }
            }
        }
        self.ledger.close_due(&self.spool, at(end, 0)).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}/export", self.dir.path().display())
    }

    pub(crate) fn sealer(&self) -> Sealer {
        sealer(&self.ledger, &self.url())
    }
}

pub(crate) fn sealer(ledger: &Ledger, url: &str) -> Sealer {
    ledger.sealer(Destination::open(url, &S3Access::default()).unwrap(), names())
}

pub(crate) fn open(dir: &Path) -> (Ledger, Spool) {
    let spool = SpoolSettings { segment_records: 64, flush_every: Duration::from_millis(1) };
    let spool = Spool::open(&dir.join("spool"), spool).unwrap();
    (Ledger::open(&dir.join("ledger"), settings()).unwrap(), spool)
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

/// Waits for a future on this thread.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}
