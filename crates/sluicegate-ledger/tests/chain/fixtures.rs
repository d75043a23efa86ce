//! A spool with a chain, for all tests here.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::chain::{self, Chain, Digest, FirstBad, PublicKey, Verified, VerifyError, audit};
use sluicegate_ledger::{BilledPrint, Flags, Kind, Position, Record, Settlement, Spool, SpoolSettings, Unit};

/// How many records a segment has.
pub(crate) const RECORDS: u64 = 16;
/// The bytes of a record.
pub(crate) const SLOT: usize = 128;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_secs(1_789_995_600)
}

pub(crate) fn record(number: u64) -> Record {
    Record {
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
        billed: BilledPrint::NOTHING,
    }
}

pub(crate) struct Bed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) spool: Spool,
    pub(crate) chain: Chain,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (spool, chain) = open(dir.path());
        Self { dir, spool, chain }
    }

    /// With so many records, all of them chained or signed.
    pub(crate) fn with(records: u64) -> Self {
        let mut bed = Self::new();
        bed.append(records);
        bed.checkpoint();
        bed
    }

    pub(crate) fn append(&self, records: u64) {
        for number in 0..records {
            let reservation = loop {
                match self.spool.reserve() {
                    Ok(reservation) => break reservation,
                    Err(_) => std::thread::yield_now(),
                }
            };
            reservation.append(&record(number));
        }
        self.spool.flush().unwrap();
    }

    pub(crate) fn checkpoint(&mut self) {
        let audit = audit::Head { seq: 9, link: Digest::of(b"nine") };
        self.chain.checkpoint(&self.spool, audit, now()).unwrap();
    }

    pub(crate) fn verify(&self) -> Result<Verified, VerifyError> {
        verify(self.dir.path())
    }

    /// The files alone.
    pub(crate) fn closed(self) -> tempfile::TempDir {
        let Self { dir, spool, .. } = self;
        spool.close().unwrap();
        dir
    }
}

pub(crate) fn open(dir: &Path) -> (Spool, Chain) {
    let settings = SpoolSettings {
        segment_records: u32::try_from(RECORDS).unwrap(),
        flush_every: Duration::from_millis(1),
    };
    (Spool::open(&dir.join("spool"), settings).unwrap(), Chain::open(&dir.join("chain")).unwrap())
}

pub(crate) fn verify(dir: &Path) -> Result<Verified, VerifyError> {
    verify_with(dir, None)
}

pub(crate) fn verify_with(dir: &Path, key: Option<PublicKey>) -> Result<Verified, VerifyError> {
    chain::verify(&dir.join("chain"), &dir.join("spool"), key)
}

/// What is wrong, where something is.
#[track_caller]
#[expect(clippy::panic, reason = "a test")]
pub(crate) fn bad(dir: &Path) -> FirstBad {
    match verify(dir) {
        Err(VerifyError::Bad(bad)) => *bad,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn segment(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("spool/{first:020}.seg"))
}

pub(crate) fn log(dir: &Path) -> PathBuf {
    dir.join("chain/chain.log")
}

pub(crate) fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub(crate) fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for part in ["spool", "chain"] {
        fs::create_dir(to.path().join(part)).unwrap();
        for entry in fs::read_dir(from.join(part)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, to.path().join(part).join(path.file_name().unwrap())).unwrap();
        }
    }
    to
}

/// A record whose checksum was made anew after it was changed, as whoever means it would.
pub(crate) fn forge(dir: &Path, position: Position) {
    let first = position.0 / RECORDS * RECORDS;
    let at = usize::try_from(position.0 - first + 1).unwrap() * SLOT;
    change(&segment(dir, first), |bytes| {
        let slot = &mut bytes[at..at + SLOT];
        slot[88] ^= 0x40;
        let mut hasher = crc32fast::Hasher::new_with_initial(u32::try_from(position.0).unwrap());
        hasher.update(&slot[4..]);
        slot[..4].copy_from_slice(&hasher.finalize().to_le_bytes());
    });
}
