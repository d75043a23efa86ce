//! The files of the chain: nothing but what was written is proven.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::chain::audit::{Checker, Entry, Head};
use sluicegate_ledger::chain::{Chain, Digest, VerifyError, verify};
use sluicegate_ledger::{BilledPrint, Flags, Kind, Ledger, Record, Settlement, Spool, SpoolSettings, Unit};
use sluicegate_testkit::dice::Dice;

use crate::harm::{any, cases, hurt, index};
use crate::scratch::{copy, scratch};

fn now() -> Timestamp {
    Timestamp::from_secs(1_789_995_600)
}

fn entry(seq: u64) -> Entry<'static> {
    Entry {
        seq,
        at: 5,
        who: "admin",
        action: "account.create",
        target: "acme",
        before: None,
        after: Some("{}"),
    }
}

/// Three segments in the chain, a part of a fourth in the checkpoint, and five audit entries seen.
fn signed() -> tempfile::TempDir {
    let dir = scratch();
    let settings = SpoolSettings { segment_records: 16, flush_every: Duration::from_millis(1) };
    let spool = Spool::open(&dir.path().join("spool"), settings).unwrap();
    for number in 0..53 {
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
            decision: number,
            home: HomeId(3),
            account: 4,
            key: 5,
            key_number: 6,
            route: 7,
            tier: 8,
            env: KeyEnv::Live,
            unit: Unit::Requests,
            cost: 1,
            overage: 0,
            idempotency: None,
            flags: Flags::NONE,
            settlement: Settlement::default(),
            billed: BilledPrint::UNKNOWN,
        });
    }
    spool.flush().unwrap();
    let mut chain = Chain::open(&dir.path().join("chain")).unwrap();
    let mut checker = Checker::default();
    let heads: Vec<Head> = (1..=5).map(|seq| checker.check(&entry(seq), None).unwrap()).collect();
    chain.see_audit(&heads).unwrap();
    chain.checkpoint(&spool, chain.audit_head(), now()).unwrap();
    spool.close().unwrap();
    dir
}

/// Everything that is proven of it.
fn check(dir: &Path) -> Result<(), VerifyError> {
    let verified = verify(&dir.join("chain"), &dir.join("spool"), None)?;
    let signed = verified.checkpoint.map(|checkpoint| checkpoint.audit).unwrap_or_default();
    let mut check = Ledger::check_audit(dir, Path::new("log"), signed)?;
    for seq in 1..=5 {
        check.entry(&entry(seq), None)?;
    }
    check.end().map(drop)
}

/// Lines in another order, twice, or gone.
fn reorder(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (index(dice, lines.len()), index(dice, lines.len()));
    match dice.below(3) {
        0 => lines.swap(one, other),
        1 => lines.insert(other, lines[one].clone()),
        _ => drop(lines.remove(one)),
    }
    *bytes = lines.concat();
}

/// A number or a digit in place of another.
fn retype(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let text = String::from_utf8(bytes.clone()).unwrap();
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let at = index(dice, words.len());
    let with = ["0", "-1", "18446744073709551615", "18446744073709551616", "4294967296", "", "key", "pruned"];
    words[at] = with[index(dice, with.len())].to_owned();
    *bytes = words.join(" ").into_bytes();
}

#[test]
fn nothing_but_what_was_written_is_proven() {
    let original = signed();
    check(original.path()).unwrap();
    cases(400, |dice| {
        let dir = scratch();
        copy(original.path(), dir.path());
        let sums = format!("{:020}.sums", dice.below(4) * 16);
        let file = ["chain.log", "chain.log", "checkpoint", "audit.links", &sums][index(dice, 5)];
        let path = dir.path().join("chain").join(file);
        let before = fs::read(&path).unwrap();
        let mut bytes = before.clone();
        match (file, dice.below(4)) {
            (_, 0) => bytes = any(dice, 1_000),
            ("chain.log", 1) => reorder(dice, &mut bytes),
            ("chain.log" | "checkpoint", 2) => retype(dice, &mut bytes),
            _ => hurt(dice, &mut bytes),
        }
        fs::write(&path, &bytes).unwrap();
        let proven = check(dir.path());
        // What follows the last whole link, or the last sum that counts, is about nothing.
        let is_same = match file {
            "audit.links" => bytes.starts_with(&before) && bytes.len() < before.len() + 40,
            "chain.log" | "checkpoint" => bytes == before,
            _ => bytes.starts_with(&before),
        };
        assert_eq!(proven.is_ok(), is_same, "{file}: {proven:?}");
        assert!(matches!(proven, Ok(()) | Err(VerifyError::Bad(_))), "{file}: {proven:?}");
        // Who goes on with it does, or says why not.
        if let Ok(mut chain) = Chain::open(&dir.path().join("chain")) {
            let _ = chain.see_audit(&[Head { seq: 6, link: Digest::NONE }]);
        }
    });
}

#[test]
fn a_chain_of_noise_proves_nothing() {
    let original = signed();
    cases(100, |dice| {
        let dir = scratch();
        copy(original.path(), dir.path());
        for file in ["chain.log", "checkpoint", "audit.links", "chain.key"] {
            fs::write(dir.path().join("chain").join(file), any(dice, 600)).unwrap();
        }
        assert!(check(dir.path()).is_err());
        assert!(Chain::open(&dir.path().join("chain")).is_err());
    });
}
