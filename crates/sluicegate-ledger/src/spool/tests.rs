//! Tests of what cannot be seen from outside: a disk that fails, and a writer who stalls.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use tempfile::TempDir;

use super::mapping::Mapping;
use super::segment::{Disk, Extent, RealDisk};
use super::{Position, Spool, SpoolSettings};
use crate::record::{BilledPrint, Flags, Kind, Record, Settlement, Unit};

mod faults;
mod stalls;

/// The disk of this machine, with switches.
#[derive(Default)]
struct Switches {
    full: AtomicBool,
    broken: AtomicBool,
    /// While it is set, flushes do not return.
    slow: Mutex<bool>,
    released: Condvar,
    /// Which records of a segment each flush was for.
    flushes: Mutex<Vec<Range<usize>>>,
}

struct SwitchedDisk(Arc<Switches>);

impl Disk for SwitchedDisk {
    fn make(&self, dir: &Path, extent: Extent) -> io::Result<Mapping> {
        match self.0.full.load(Ordering::SeqCst) {
            true => Err(io::Error::new(io::ErrorKind::StorageFull, "the test has filled the disk")),
            false => RealDisk.make(dir, extent),
        }
    }

    fn flush(&self, mapping: &Mapping, records: Range<usize>) -> io::Result<()> {
        self.0.flushes.lock().push(records.clone());
        let mut slow = self.0.slow.lock();
        self.0.released.wait_while(&mut slow, |slow| *slow);
        match self.0.broken.load(Ordering::SeqCst) {
            true => Err(io::Error::other("the test has broken the disk")),
            false => RealDisk.flush(mapping, records),
        }
    }
}

impl Switches {
    fn set_slow(&self, slow: bool) {
        *self.slow.lock() = slow;
        self.released.notify_all();
    }
}

/// A spool with segments of so many records on a disk with switches.
fn switched(dir: &TempDir, segment_records: u32, flush_every: Duration) -> (Spool, Arc<Switches>) {
    let switches = Arc::new(Switches::default());
    let spool = open_switched(dir, segment_records, flush_every, &switches);
    (spool, switches)
}

fn open_switched(dir: &TempDir, segment_records: u32, flush_every: Duration, on: &Arc<Switches>) -> Spool {
    let settings = SpoolSettings { segment_records, flush_every };
    Spool::open_on(dir.path(), settings, Box::new(SwitchedDisk(Arc::clone(on)))).unwrap()
}

/// A flush that comes only when somebody asks for it.
const NEVER: Duration = Duration::from_hours(1);
const SOON: Duration = Duration::from_millis(1);

fn record(cost: u64) -> Record {
    let at = Timestamp::from_secs(1_790_000_000);
    Record {
        kind: Kind::Charge,
        at,
        charged_at: at,
        decision: u128::from(cost) << 64 | 1,
        home: HomeId(9),
        account: 1,
        key: 2,
        key_number: 3,
        route: 4,
        tier: 5,
        env: KeyEnv::Live,
        unit: Unit::Requests,
        cost,
        overage: 0,
        idempotency: None,
        flags: Flags::NONE,
        settlement: Settlement::default(),
        billed: BilledPrint::UNKNOWN,
    }
}

/// Appends records until there is no room, and says how many.
fn fill(spool: &Spool) -> u64 {
    let mut appended = 0;
    while let Ok(reservation) = spool.reserve() {
        appended += 1;
        reservation.append(&record(appended));
    }
    appended
}

/// The costs of all records, in order.
fn costs(spool: &Spool) -> Vec<u64> {
    let mut costs = Vec::new();
    spool.read(spool.first(), |_, record| costs.push(record.cost)).unwrap();
    costs
}

/// Waits until it is so, ten seconds at most.
#[track_caller]
fn eventually(mut it: impl FnMut() -> bool) {
    let so = (0..10_000).any(|_| {
        it() || {
            std::thread::park_timeout(SOON);
            false
        }
    });
    assert!(so, "it did not come to pass");
}

fn files(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().filter(|entry| entry.as_ref().unwrap().path().extension().is_some()).count()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// A position that nobody writes to yet.
fn claim(spool: &Spool) -> super::line::Claim<'_> {
    spool.reserve().unwrap().credit.claim()
}

fn durable(spool: &Spool) -> u64 {
    let Position(durable) = spool.durable();
    durable
}
