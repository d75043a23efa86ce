//! Segments of the spool, whole and in parts, with checksums that hold and that do not.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::usage::{Book, Query};
use sluicegate_ledger::{BilledPrint, Flags, Kind, Record, Settlement, Spool, SpoolSettings, Unit};
use sluicegate_testkit::dice::Dice;

use crate::harm::{any, cases, hurt, index, noise};
use crate::scratch::{copy, scratch};

const SLOT: usize = 128;
const SEGMENT: u32 = 16;

fn settings() -> SpoolSettings {
    SpoolSettings { segment_records: SEGMENT, flush_every: Duration::from_millis(1) }
}

/// Three full segments and one with five records.
fn filled() -> tempfile::TempDir {
    let dir = scratch();
    let spool = Spool::open(dir.path(), settings()).unwrap();
    for number in 0..53 {
        let reservation = loop {
            match spool.reserve() {
                Ok(reservation) => break reservation,
                Err(_) => std::thread::yield_now(),
            }
        };
        let at = Timestamp::from_secs(1_789_995_600 + number * 600);
        reservation.append(&Record {
            kind: [Kind::Charge, Kind::Correction, Kind::Refund]
                [usize::from(number % 4 == 1) + 2 * usize::from(number % 4 == 2)],
            at,
            charged_at: at,
            decision: 7,
            home: HomeId(3),
            account: 4,
            key: 5,
            key_number: 6,
            route: 7,
            tier: 8,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: 1 << (number % 40),
            overage: 0,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: BilledPrint::UNKNOWN,
        });
    }
    spool.close().unwrap();
    dir
}

fn path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}.seg"))
}

fn number<const N: usize>(slot: &[u8], at: usize) -> [u8; N] {
    slot[at..at + N].try_into().unwrap()
}

fn checksum(slot: &[u8], position: u64) -> [u8; 4] {
    let seed = u32::try_from(position & 0xffff_ffff).unwrap() ^ u32::try_from(position >> 32).unwrap();
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(&slot[4..]);
    hasher.finalize().to_le_bytes()
}

/// Changes a record and makes its checksum hold again.
fn forge(dice: &mut Dice, bytes: &mut [u8], first: u64) {
    let slots = bytes.len() / SLOT;
    if slots < 2 {
        return;
    }
    let at = 1 + index(dice, slots - 1);
    let slot = &mut bytes[at * SLOT..(at + 1) * SLOT];
    let random = dice.roll().to_le_bytes();
    match dice.below(6) {
        0 => slot[5] = random[0],
        1 => slot[8..16].copy_from_slice(&random),
        2 => slot[88..96].copy_from_slice(&random),
        3 => slot[4] = random[0] % 5,
        4 => slot[56..64].copy_from_slice(&random),
        _ => slot.fill(random[0]),
    }
    let sum = checksum(slot, first + at as u64 - 1);
    slot[..4].copy_from_slice(&sum);
}

/// Changes the header and makes its checksum hold again.
fn forge_header(dice: &mut Dice, bytes: &mut [u8]) {
    if bytes.len() < SLOT {
        return;
    }
    let random = dice.roll().to_le_bytes();
    match dice.below(4) {
        0 => bytes[8] = random[0] % 4,
        1 => bytes[12..16].copy_from_slice(&random[..4]),
        2 => bytes[16..24].copy_from_slice(&random),
        _ => bytes[12] = random[0] % 32,
    }
    let sum = crc32fast::hash(&bytes[..SLOT - 4]).to_le_bytes();
    bytes[SLOT - 4..SLOT].copy_from_slice(&sum);
}

/// What the slots before `tail` come to, and how many of them hold no whole record, by the page that describes them.
fn expected(dir: &Path, tail: u64) -> (i128, u64) {
    let (mut total, mut bad) = (0, 0);
    let mut names: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|it| it == "seg"));
    names.sort();
    for path in names {
        let first: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let bytes = fs::read(&path).unwrap();
        for (position, slot) in (first..tail).zip(bytes.chunks_exact(SLOT).skip(1)) {
            let (is_known, kind) = match slot[4] {
                1 => (true, slot[5]),
                2 => (slot[84] == 1 && (1..=2).contains(&slot[85]), slot[5]),
                3 => (slot[84] & 15 == 1 && (1..=2).contains(&(slot[84] >> 4)), slot[5] & 3),
                _ => (false, 0),
            };
            let is_whole = slot[..4] == checksum(slot, position) && is_known && (1..=3).contains(&kind);
            let cost = i128::from(u64::from_le_bytes(number(slot, 88)));
            match (is_whole, kind) {
                (true, 2) => total -= cost,
                (true, _) => total += cost,
                (false, _) => bad += 1,
            }
        }
    }
    (total, bad)
}

/// Whatever is in the folder: it is refused aloud, or counted to the unit with all damage told.
fn check(dir: &Path) {
    let Ok(spool) = Spool::open(dir, settings()) else { return };
    let (mut total, mut reads) = (0_i128, 0);
    let report = spool.read(spool.first(), |_, record| {
        let cost = i128::from(record.cost);
        total += if record.kind == Kind::Refund { -cost } else { cost };
        reads += 1;
    });
    let Ok(report) = report else { return };
    let (whole, bad) = expected(dir, spool.tail().0);
    assert_eq!((total, report.torn + report.holes, report.read), (whole, bad, reads));
    let book = Book::open(&dir.join("usage.db")).unwrap();
    // More than a row can hold is an error, and not a smaller number.
    let Ok(rolled) = book.roll(&spool) else { return };
    let usage = book.query(&spool, &Query::default()).unwrap();
    assert_eq!((usage.sums.total(), rolled.torn + rolled.holes), (whole, bad));
    assert_eq!(usage.torn, report.torn);
}

#[test]
fn segments_that_were_harmed_are_counted_to_the_unit_or_refused() {
    let original = filled();
    cases(250, |dice| {
        let dir = scratch();
        copy(original.path(), dir.path());
        for _ in 0..=dice.below(3) {
            let first = dice.below(4) * u64::from(SEGMENT);
            let path = path(dir.path(), first);
            let Ok(mut bytes) = fs::read(&path) else { continue };
            match dice.below(10) {
                0..=3 => hurt(dice, &mut bytes),
                4..=6 => forge(dice, &mut bytes, first),
                7 => forge_header(dice, &mut bytes),
                8 => bytes = any(dice, 4_000),
                _ => {
                    // In another's place, or in a place of its own.
                    let to = [0, 16, 32, 48, 64, 7, u64::MAX][index(dice, 7)];
                    fs::rename(&path, self::path(dir.path(), to)).unwrap();
                    continue;
                }
            }
            fs::write(&path, bytes).unwrap();
        }
        check(dir.path());
    });
}

#[test]
fn folders_of_noise_are_refused_or_empty() {
    cases(60, |dice| {
        let dir = scratch();
        for number in 0..dice.below(4) {
            let name = match dice.below(4) {
                0 => format!("{number}.seg"),
                1 => format!("{:020}.seg", dice.roll()),
                _ => format!("{:020}.seg", number * u64::from(SEGMENT)),
            };
            let length = [0, 1, 127, 128, 129, 17 * SLOT, 3_000][index(dice, 7)];
            let bytes = if dice.below(3) == 0 { vec![0; length] } else { noise(dice, length) };
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        check(dir.path());
    });
}
