//! The audit log against what was signed and seen of it: the first entry that is not what it was is named.

use std::fs;
use std::path::Path;

use sluicegate_ledger::Ledger;
use sluicegate_ledger::chain::audit::{Checker, Entry, Head};
use sluicegate_ledger::chain::{AuditVerified, ChainError, Digest, FirstBad, VerifyError, Why};

use crate::fixtures::{Bed, change, now, open};

/// How many entries are signed, and how many came after.
const SIGNED: u64 = 7;
const NEWER: u64 = 2;
/// The bytes of the links of those that are signed.
const SIGNED_BYTES: usize = 7 * 40;

/// An entry that can be changed.
#[derive(Clone)]
struct Kept {
    seq: u64,
    at: u64,
    texts: [String; 3],
    says: [Option<String>; 2],
    link: Digest,
}

impl Kept {
    fn entry(&self) -> Entry<'_> {
        let [who, action, target] = &self.texts;
        let [before, after] = &self.says;
        let (before, after) = (before.as_deref(), after.as_deref());
        Entry { seq: self.seq, at: self.at, who, action, target, before, after }
    }

    /// The same with one thing changed: the time, that something is said at all, and then each byte of each text.
    fn changed(&self, number: usize) -> Option<Self> {
        let mut changed = self.clone();
        match number {
            0 => changed.at ^= 1,
            1 => changed.says[1] = None,
            _ => {
                let texts = changed.texts.iter_mut().chain(changed.says.iter_mut().flatten());
                let mut left = number - 2;
                for text in texts {
                    if left < text.len() {
                        let flip = |(at, c): (usize, char)| {
                            if at == left { char::from(u8::try_from(c).unwrap() ^ 1) } else { c }
                        };
                        *text = text.chars().enumerate().map(flip).collect();
                        return Some(changed);
                    }
                    left -= text.len();
                }
                return None;
            }
        }
        Some(changed)
    }
}

/// A log with its links.
fn log() -> Vec<Kept> {
    let mut checker = Checker::default();
    let kept = |seq: u64| {
        let texts = ["admin", "account.create", "acme"].map(str::to_owned);
        let says =
            [(seq > 1).then(|| "{\"tier\":\"free\"}".to_owned()), Some(format!("{{\"serial\":{seq}}}"))];
        let mut kept = Kept { seq, at: 1_000 + seq, texts, says, link: Digest::NONE };
        kept.link = checker.check(&kept.entry(), None).unwrap().link;
        kept
    };
    (1..=SIGNED + NEWER).map(kept).collect()
}

fn heads(log: &[Kept]) -> Vec<Head> {
    log.iter().map(|kept| Head { seq: kept.seq, link: kept.link }).collect()
}

/// A chain that has seen the log, and signed the first part of it.
fn signed(log: &[Kept]) -> (tempfile::TempDir, Head) {
    let Bed { dir, spool, mut chain } = Bed::new();
    let heads = heads(log);
    let (first, later) = heads.split_at(usize::try_from(SIGNED).unwrap());
    chain.see_audit(first).unwrap();
    assert_eq!(Some(&chain.audit_head()), first.last());
    chain.checkpoint(&spool, chain.audit_head(), now()).unwrap();
    chain.see_audit(later).unwrap();
    let signed = *first.last().unwrap();
    spool.close().unwrap();
    (dir, signed)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Links {
    /// As a database has them.
    Kept,
    /// As a shared store has none.
    None,
}

fn check(dir: &Path, signed: Head, log: &[Kept], links: Links) -> Result<AuditVerified, VerifyError> {
    let mut check = Ledger::check_audit(dir, Path::new("the log"), signed)?;
    for kept in log {
        check.entry(&kept.entry(), (links == Links::Kept).then_some(&kept.link))?;
    }
    check.end()
}

#[track_caller]
#[expect(clippy::panic, reason = "a test")]
fn bad(dir: &Path, signed: Head, log: &[Kept], links: Links) -> FirstBad {
    match check(dir, signed, log, links) {
        Err(VerifyError::Bad(bad)) => *bad,
        other => panic!("{other:?}"),
    }
}

/// Makes the links anew from the first changed entry on, as whoever means it would.
fn relink(log: &mut [Kept]) {
    let mut checker = Checker::default();
    for kept in log {
        kept.link = checker.check(&kept.entry(), None).unwrap().link;
    }
}

#[test]
fn what_was_not_changed_is_proven() {
    let log = log();
    let (dir, signed) = signed(&log);
    for links in [Links::Kept, Links::None] {
        let verified = check(dir.path(), signed, &log, links).unwrap();
        assert_eq!((verified.signed, verified.newer), (SIGNED, NEWER));
        assert_eq!(verified.head, *heads(&log).last().unwrap());
    }
}

#[test]
fn every_byte_of_every_entry_is_part_of_the_proof_and_the_entry_is_named() {
    let log = log();
    let (dir, signed) = signed(&log);
    let mut flips = 0;
    for place in 0..log.len() {
        for changed_entry in (0..).map_while(|number| log[place].changed(number)) {
            flips += 1;
            for (links, anew) in [(Links::Kept, false), (Links::None, false), (Links::Kept, true)] {
                let mut changed = log.clone();
                changed[place] = changed_entry.clone();
                if anew {
                    relink(&mut changed);
                }
                let found = bad(dir.path(), signed, &changed, links);
                assert_eq!((found.entry, found.why), (Some(log[place].seq), Why::Entry), "{links:?}, {anew}");
            }
        }
    }
    assert!(flips > 300, "{flips}");
}

#[test]
fn an_entry_that_was_removed_is_missed() {
    let log = log();
    let (dir, signed) = signed(&log);
    for place in 0..log.len() {
        let mut removed = log.clone();
        removed.remove(place);
        for links in [Links::Kept, Links::None] {
            let found = bad(dir.path(), signed, &removed, links);
            assert_eq!((found.entry, found.why), (Some(log[place].seq), Why::EntryMissing), "{links:?}");
        }
        let cut = bad(dir.path(), signed, &log[..place], Links::Kept);
        assert_eq!((cut.entry, cut.why), (Some(log[place].seq), Why::EntryMissing));
    }
}

#[test]
fn a_changed_link_is_told_from_a_changed_entry() {
    let log = log();
    let (dir, signed) = signed(&log);
    let mut kept = log.clone();
    kept[3].link.0[5] ^= 1;
    let found = bad(dir.path(), signed, &kept, Links::Kept);
    assert_eq!((found.entry, found.why, found.file.as_path()), (Some(4), Why::Link, Path::new("the log")));
    let path = dir.path().join("chain/audit.links");
    for byte in 0..SIGNED_BYTES {
        change(&path, |bytes| bytes[byte] ^= 4);
        let found = bad(dir.path(), signed, &log, Links::Kept);
        assert_eq!((found.why, &found.file), (Why::Link, &path), "{byte}");
        change(&path, |bytes| bytes[byte] ^= 4);
    }
    for byte in SIGNED_BYTES..log.len() * 40 {
        change(&path, |bytes| bytes[byte] ^= 4);
        bad(dir.path(), signed, &log, Links::Kept);
        change(&path, |bytes| bytes[byte] ^= 4);
    }
    // Cut off below what was signed, and gone.
    change(&path, |bytes| bytes.truncate(3 * 40));
    let found = bad(dir.path(), signed, &log, Links::Kept);
    assert_eq!((found.entry, found.why, &found.file), (Some(4), Why::Link, &path));
    fs::remove_file(&path).unwrap();
    assert_eq!(bad(dir.path(), signed, &log, Links::Kept).entry, Some(1));
    let mut changed = log.clone();
    changed[2].at += 1;
    let found = bad(dir.path(), signed, &changed, Links::None);
    assert_eq!((found.entry, found.why), (Some(SIGNED), Why::Entries), "nothing tells which one it is");
}

#[test]
fn what_was_seen_or_signed_is_never_taken_back() {
    let log = log();
    let (dir, signed) = signed(&log);
    let heads = heads(&log);
    let (spool, mut chain) = open(dir.path());
    assert_eq!(Some(&chain.audit_head()), heads.last());
    let is_audit = |error: Result<(), ChainError>| matches!(error, Err(ChainError::Audit { .. }));
    assert!(is_audit(chain.see_audit(&heads[..1])), "seen already");
    let other = Head { link: Digest::NONE, ..signed };
    for head in [Head::default(), heads[2], other] {
        assert!(is_audit(chain.checkpoint(&spool, head, now()).map(drop)), "{head:?}");
    }
    chain.checkpoint(&spool, signed, now()).unwrap();
    // Without the file everything is seen once more, and must be what was signed.
    drop(chain);
    fs::remove_file(dir.path().join("chain/audit.links")).unwrap();
    let mut chain = sluicegate_ledger::chain::Chain::open(&dir.path().join("chain")).unwrap();
    assert_eq!(chain.audit_head(), Head::default());
    let mut forged = heads.clone();
    forged[6].link = Digest::NONE;
    assert!(is_audit(chain.see_audit(&forged)));
    assert!(is_audit(chain.see_audit(&[heads[0], heads[7]])), "the signed one is left out");
    chain.see_audit(&heads).unwrap();
    check(dir.path(), signed, &log, Links::None).unwrap();
}

#[test]
fn a_link_that_was_being_written_is_written_again() {
    let log = log();
    let (dir, signed) = signed(&log);
    let path = dir.path().join("chain/audit.links");
    change(&path, |bytes| bytes.truncate(bytes.len() - 7));
    // Beside a server that has not noticed yet it is no damage: it was never signed.
    check(dir.path(), signed, &log, Links::Kept).unwrap();
    let (_spool, mut chain) = open(dir.path());
    assert_eq!(chain.audit_head().seq, SIGNED + NEWER - 1);
    chain.see_audit(&heads(&log)[log.len() - 1..]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), log.len() as u64 * 40);
    check(dir.path(), signed, &log, Links::Kept).unwrap();
}
