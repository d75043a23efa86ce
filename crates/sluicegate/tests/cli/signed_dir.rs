//! A data directory as a server leaves it: records in small segments, writes of an admin, a chain, and a checkpoint.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::audit::follow;
use sluicegate_ledger::{
    BilledPrint, Flags, Kind, Ledger, LedgerSettings, Record, Settlement, Spool, SpoolSettings, Unit,
};
use sluicegate_store::database::Database;
use sluicegate_store::directory::{AccountId, Directory, DisplayName, NewAccount, Writer};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::KeyHasher;
use tempfile::TempDir;

/// How many records a segment has, and how many there are.
const SEGMENT: u32 = 16;
pub(crate) const RECORDS: u64 = 5 * 16 + 7;
/// How many entries the audit log has.
pub(crate) const ENTRIES: u64 = 6;

/// The directory, closed.
pub(crate) struct SignedDir {
    dir: TempDir,
    /// The key that signed it.
    pub(crate) public_key: String,
}

fn now() -> Timestamp {
    Timestamp::from_secs(1_790_000_000)
}

impl SignedDir {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spool = spool(&dir.path().join("spool"));
        let directory = directory(dir.path());
        write(&directory, ENTRIES);
        let ledger = Ledger::open(&dir.path().join("ledger"), LedgerSettings::default()).unwrap();
        let head = follow(&directory, &ledger).unwrap();
        ledger.checkpoint(&spool, head, now()).unwrap();
        let public_key = ledger.public_key().unwrap().to_string();
        spool.close().unwrap();
        Self { dir, public_key }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn text(&self) -> &str {
        self.dir.path().to_str().unwrap()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.path().join("sluicegate.db")
    }

    pub(crate) fn segment(&self, first: u64) -> PathBuf {
        self.dir.path().join(format!("spool/{first:020}.seg"))
    }

    pub(crate) fn chain(&self, file: &str) -> PathBuf {
        self.dir.path().join("ledger/chain").join(file)
    }

    /// One more write of the admin, after the checkpoint.
    pub(crate) fn write_more(&self) {
        write(&directory(self.path()), 1);
    }

    pub(crate) fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.database()).unwrap().execute_batch(sql).unwrap();
    }
}

fn spool(dir: &Path) -> Spool {
    let settings = SpoolSettings { segment_records: SEGMENT, flush_every: Duration::from_millis(1) };
    let spool = Spool::open(dir, settings).unwrap();
    for number in 0..RECORDS {
        let reservation = loop {
            match spool.reserve() {
                Ok(reservation) => break reservation,
                Err(_) => std::thread::yield_now(),
            }
        };
        reservation.append(&Record {
            kind: Kind::Charge,
            at: now(),
            charged_at: now(),
            decision: u128::from(number),
            home: HomeId(3),
            account: 4,
            key: 5,
            key_number: 6,
            route: 7,
            tier: 8,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: number + 1,
            overage: 0,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: BilledPrint::UNKNOWN,
        });
    }
    spool.flush().unwrap();
    spool
}

fn directory(dir: &Path) -> Directory {
    let database = Database::open(&dir.join("sluicegate.db")).unwrap();
    Directory::open(database, HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32])).unwrap()
}

fn write(directory: &Directory, writes: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let by = Writer { who: "admin".to_owned(), now: now() };
    for _ in 0..writes {
        let id = AccountId::random().unwrap();
        let new = NewAccount {
            id: Some(id),
            name: DisplayName::new("Acme").unwrap(),
            tier: TierName::new("free").unwrap(),
            billing_day: None,
            timezone: None,
        };
        runtime.block_on(directory.create_account(new, &by)).unwrap();
    }
}
