//! A full disk: what must be recorded is refused, what need not be goes on, and room is all it takes to recover.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::server::Launch;
use sluicegate_testkit::wait;
use tempfile::TempDir;

use crate::bed::{Bed, PROGRAM, spool};
use crate::faces::{FACES, Knock};
use crate::golden;
use crate::shown::{all, shown};
use crate::tally::ledger;

const POLICY: &str = "
tiers:
  sold: {quota: 100_000_000, quota_window: sliding_day}
  billed: {quota: 100, on_quota_exceeded: bill_overage}
  open: {rate: 1_000_000, burst: 1_000_000}
";

/// Four segments of the spool, and something for the database.
const SIZE: &str = "size=72m";

/// A small file system, until it is dropped.
struct Disk {
    at: PathBuf,
}

impl Disk {
    fn mount(at: &Path) -> Self {
        fs::create_dir(at).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "sluicegate-test"]).arg(at).output();
        let mounted = mounted.unwrap();
        assert!(
            mounted.status.success(),
            "this test needs a small file system of its own, and may not mount one: {}\n\
             Run it as root, or set SLUICEGATE_NO_MOUNT=1 to do without what it shows.",
            String::from_utf8_lossy(&mounted.stderr)
        );
        Self { at: at.to_owned() }
    }

    /// Writes until nothing more can be written.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).unwrap();
        let mut piece = vec![0; 1 << 20];
        while !piece.is_empty() {
            if file.write_all(&piece).is_err() {
                piece.truncate(piece.len() / 2);
            }
        }
    }

    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

fn may_not_mount() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the switch for machines where nothing can be mounted")]
    let refused = std::env::var_os("SLUICEGATE_NO_MOUNT").is_some_and(|value| value == "1");
    refused
}

#[test]
fn a_full_disk_refuses_what_must_be_recorded_until_there_is_room() {
    if may_not_mount() {
        return;
    }
    let folder: TempDir = tempfile::tempdir().unwrap();
    let disk = Disk::mount(&folder.path().join("data"));
    let launch = Launch::new(PROGRAM, folder.path()).policy(POLICY);
    let server = launch.start();
    let mut bed = Bed { server, launch, folder };
    let key = bed.customer("acme", "sold");
    let faces: Vec<String> =
        FACES.iter().map(|face| bed.customer(&format!("acme-{}", *face as u8), "sold")).collect();
    let (billed, open) = (bed.customer("billed", "billed"), bed.customer("open", "open"));
    let mut admitted = batch(&bed, &key, 1).admitted;
    wait::until("the second segment is made", || (segments(&bed) == 2).then_some(()));
    disk.fill();

    // Two segments are there, and then nothing is.
    admitted += use_up(&bed, &key);
    assert!((262_000..=262_144).contains(&admitted), "{admitted}");
    expect_refused(&bed, &faces);
    let answer = bed.check(&json!({"key": billed})).json();
    assert_eq!((&answer["status"], &answer["error"]), (&json!(503), &json!("unavailable")), "{answer}");
    // Nothing is sold here, so nothing has to be recorded.
    let answer = bed.gateway(&Asked::get("/").key(&open));
    assert_eq!(answer.status, 200, "{answer:?}");
    // What says no for another reason still says so.
    assert_eq!(bed.check(&json!({"key": "hunter2"})).json()["error"], "invalid_key");
    // Refusals have cost nothing.
    assert_eq!(bed.used("acme", "quota"), admitted);

    disk.free();
    wait::until("it recovers by itself", || (batch(&bed, &key, 1).admitted == 1).then_some(()));
    admitted += 1;
    wait::until("it says so", || (bed.health()["status"] == "ok").then_some(()));
    let more = batch(&bed, &key, 1_000);
    assert_eq!((more.admitted, more.unavailable), (1_000, 0));
    admitted += 1_000;
    assert_eq!(bed.used("acme", "quota"), admitted);
    bed.server.terminate();
    assert_eq!(bed.server.wait().code(), Some(0), "{}", bed.server.said());
    let recorded = ledger(&spool(&bed.data_dir()));
    assert!(recorded.values().any(|charged| charged.cost == admitted), "the ledger does not have {admitted}");
    bed.restart();
    assert_eq!(bed.used("acme", "quota"), admitted);
    bed.server.kill();
}

fn segments(bed: &Bed) -> usize {
    let entries = fs::read_dir(spool(&bed.data_dir())).unwrap().map(|entry| entry.unwrap());
    entries.filter(|entry| entry.metadata().is_ok_and(|data| data.len() > 1 << 20)).count()
}

/// What came of a batch.
#[derive(Default)]
struct Came {
    admitted: u64,
    unavailable: u64,
}

fn batch(bed: &Bed, key: &str, size: usize) -> Came {
    let checks = vec![json!({"key": key}); size];
    let asked = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": checks}));
    let answer = Caller::new(bed.server.decision()).send(&asked).unwrap().json();
    let mut came = Came::default();
    for answer in answer["results"].as_array().unwrap_or_else(|| panic!("{answer}")) {
        match (answer["allowed"].as_bool(), answer["error"].as_str()) {
            (Some(true), None) => came.admitted += 1,
            (Some(false), Some("unavailable")) => came.unavailable += 1,
            _ => panic!("{answer}"),
        }
    }
    came
}

/// Charges until nothing more can be recorded, and says how much that was.
fn use_up(bed: &Bed, key: &str) -> u64 {
    let mut admitted = 0;
    for _ in 0..300 {
        let came = batch(bed, key, 1_000);
        admitted += came.admitted;
        if came.unavailable > 0 {
            return admitted;
        }
    }
    panic!("{admitted} were admitted, and there is no end to it");
}

/// Every face says that it cannot decide, and so does `/health`.
fn expect_refused(bed: &Bed, keys: &[String]) {
    let answers = FACES.iter().zip(keys).map(|(face, key)| {
        let knock = Knock { keys: vec![key.clone()], path: "/hello", cost: None };
        (*face, shown(&face.ask(bed, &knock), &format!("acme-{}", *face as u8)))
    });
    golden::check("answers/unavailable.txt", &all(answers));
    let health: Value = bed.health();
    assert_eq!(
        (&health["status"], &health["ledger"]["state"]),
        (&json!("degraded"), &json!("full")),
        "{health}"
    );
    let detail = health["ledger"]["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("room for 0 more records: "), "{health}");
}
