//! A disk that is really full: a small file system in memory, where the process may mount one.

use std::fs;
use std::path::Path;
use std::process::Command;

use sluicegate_ledger::{Health, Position, Spool};
use tempfile::TempDir;

use crate::fixtures::{append, eventually, numbers, open, record, segments};

/// A file system of one megabyte.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts it, or says why that cannot be and gives nothing.
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        let output = mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(dir.path()).output();
        let problem = match output {
            Ok(output) if output.status.success() => return Some(Self(dir)),
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        eprintln!("NOT TESTED on a real full disk, because this process may not mount one: {problem}");
        eprintln!("The unit tests with a disk that refuses have been run all the same.");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.path().display());
        }
    }
}

/// Appends until nothing more is taken and the spool says why, and gives how many records there are then.
fn fill(spool: &Spool) -> u64 {
    loop {
        match spool.reserve() {
            Ok(reservation) => drop(reservation.append(&record(spool.tail().0))),
            Err(_) if matches!(spool.health(), Health::Full { left: 0, .. }) => return spool.tail().0,
            Err(_) => std::thread::yield_now(),
        }
    }
}

#[test]
fn a_full_disk_refuses_and_space_that_is_freed_is_used() {
    let Some(disk) = SmallDisk::mount() else { return };
    let filler = disk.path().join("filler");
    fs::write(&filler, vec![1; 256 << 10]).unwrap();
    let spool = open(&disk.path().join("spool"), 511);
    let full_at = fill(&spool);
    assert!(full_at > 2 * 511, "{full_at}");
    let Health::Full { reason, .. } = spool.health() else { panic!("it was full") };
    assert!(reason.contains("No space left"), "{reason}");
    assert_eq!(numbers(&spool), (0..full_at).collect::<Vec<_>>());
    assert!(!segments(disk.path()).iter().any(|path| path.ends_with(".tmp")));
    // Somebody clears away something else.
    fs::remove_file(&filler).unwrap();
    eventually(|| spool.health() == Health::Good);
    assert_eq!(append(&spool, &record(full_at)), Position(full_at));
    // Old records make room for new ones.
    let full_at = fill(&spool);
    spool.flush().unwrap();
    assert!(spool.forget_before(Position(full_at / 2)).unwrap() > 0);
    eventually(|| spool.health() == Health::Good);
    append(&spool, &record(full_at));
    assert_eq!(numbers(&spool), (spool.first().0..=full_at).collect::<Vec<_>>());
    spool.close().unwrap();
}

#[test]
fn a_spool_is_opened_and_read_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount() else { return };
    let dir = disk.path().join("spool");
    let full_at = fill(&open(&dir, 511));
    // Whatever the last segments left over.
    let filler = disk.path().join("filler");
    let _ = fs::write(&filler, vec![1; 1 << 20]);
    let spool = open(&dir, 511);
    assert!(matches!(spool.health(), Health::Full { left: 0, .. }), "{:?}", spool.health());
    assert_eq!(numbers(&spool), (0..full_at).collect::<Vec<_>>());
    assert!(spool.reserve().is_err());
    fs::remove_file(&filler).unwrap();
    spool.forget_before(Position(511)).unwrap();
    eventually(|| spool.reserve().is_ok());
}
