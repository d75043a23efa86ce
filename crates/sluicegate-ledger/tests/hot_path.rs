//! Appending allocates nothing and makes no system call.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::thread::{SecureComputingMode, set_secure_computing_mode};
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{
    BilledPrint, Flags, Idempotency, Kind, Position, Record, Settlement, Spool, SpoolSettings, Unit,
};

struct Counting;

thread_local! {
    /// What this thread has allocated: the spool's own does what it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has none any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RECORDS: u64 = 100_000;
/// The variable that tells the other process where its spool is.
const DIR: &str = "SLUICEGATE_TEST_SEALED_SPOOL";
const DONE: &str = "all appended";

/// A spool whose thread sleeps, so that all that happens is what the test does.
fn open(dir: &Path) -> Spool {
    let flush_every = Duration::from_hours(1);
    Spool::open(dir, SpoolSettings { flush_every, ..SpoolSettings::default() }).unwrap()
}

fn append_all(spool: &Spool) {
    let at = Timestamp::from_secs(1_790_000_000);
    for number in 0..RECORDS {
        let record = Record {
            kind: Kind::Charge,
            at,
            charged_at: at,
            decision: u128::from(number),
            home: HomeId(7),
            account: 1,
            key: 1,
            key_number: 1,
            route: 1,
            tier: 1,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: number,
            overage: 0,
            idempotency: Some(Idempotency { key: number, request: 1 }),
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: BilledPrint::UNKNOWN,
        };
        drop(spool.reserve().unwrap());
        spool.reserve().unwrap().append(&record);
    }
}

#[test]
fn appending_allocates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path());
    let before = ALLOCATIONS.get();
    append_all(&spool);
    assert_eq!(ALLOCATIONS.get(), before);
    drop(std::hint::black_box(Box::new(before)));
    assert!(ALLOCATIONS.get() > before, "what is allocated is counted");
    assert_eq!(spool.tail(), Position(RECORDS));
}

/// Not a test of its own: what runs in the process that may call nothing but read and write. Without the variable it
/// does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells the process it starts what to do")]
fn sealed() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let spool = open(Path::new(&dir));
    let mut output = std::io::stdout().lock();
    // From here on any other system call of this thread is the end of it.
    set_secure_computing_mode(SecureComputingMode::Strict).unwrap();
    append_all(&spool);
    output.write_all(format!("{DONE}\n").as_bytes()).unwrap();
    // It cannot even end by itself.
    loop {
        std::hint::spin_loop();
    }
}

#[test]
fn appending_makes_no_system_call() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sealed", "--nocapture", "--test-threads=1"])
        .env(DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let done = lines.map_while(Result::ok).any(|line| line.contains(DONE));
    let _ = child.kill();
    child.wait().unwrap();
    assert!(done, "it was killed for a system call");
    assert_eq!(open(dir.path()).tail(), Position(RECORDS));
}
