//! `sluicegate audit verify`: what is proven, and the first thing that is not what it was.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::golden;
use crate::run::{Ended, run};
use crate::signed_dir::{ENTRIES, RECORDS, SignedDir};

fn verify(dir: &SignedDir, more: &[&str]) -> Ended {
    // Nothing listens there.
    let args = ["audit", "verify", "--data-dir", dir.text(), "--admin-url", "http://127.0.0.1:9"];
    run(&[&args[..], more].concat())
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_was_recorded_is_proven_or_named() {
    let dir = SignedDir::new();
    dir.write_more();
    let mut text = String::new();
    let mut tell = |what: &str, ended: &Ended, status: i32| {
        assert_eq!(ended.status, status, "{what}: {ended:?}");
        let shown = format!("# {what}\n{}{}[{}]\n\n", ended.stdout, ended.stderr, ended.status);
        text.push_str(&shown.replace(dir.text(), "DATA").replace(&dir.public_key, &"0f".repeat(32)));
    };
    tell("nothing was changed", &verify(&dir, &[]), 0);
    tell("the key is the one that was kept", &verify(&dir, &["--public-key", &dir.public_key]), 0);
    tell("the key is another", &verify(&dir, &["--public-key", &"00".repeat(32)]), 1);

    change(&dir.segment(16), |bytes| bytes[5 * 128 + 90] ^= 1);
    tell("a record was changed", &verify(&dir, &[]), 1);
    change(&dir.segment(16), |bytes| bytes[5 * 128 + 90] ^= 1);

    let log = fs::read(dir.chain("chain.log")).unwrap();
    change(&dir.chain("chain.log"), |bytes| bytes[300] ^= 1);
    tell("a line of the chain was changed", &verify(&dir, &[]), 1);
    fs::write(dir.chain("chain.log"), log).unwrap();

    dir.sql("UPDATE audit SET who = 'admim' WHERE seq = 3");
    tell("who did something was changed", &verify(&dir, &[]), 1);
    dir.sql("UPDATE audit SET who = 'admin' WHERE seq = 3");

    change(&dir.chain("audit.links"), |bytes| bytes[50] ^= 1);
    tell("a link that was seen was changed", &verify(&dir, &[]), 1);
    change(&dir.chain("audit.links"), |bytes| bytes[50] ^= 1);

    dir.sql("DELETE FROM audit WHERE seq >= 5");
    tell("the end of the audit log was removed", &verify(&dir, &[]), 1);

    fs::rename(dir.segment(32), dir.path().join("away")).unwrap();
    tell("a segment was taken away", &verify(&dir, &[]), 1);
    fs::rename(dir.path().join("away"), dir.segment(32)).unwrap();

    fs::rename(dir.path().join("ledger"), dir.path().join("away")).unwrap();
    tell("no server ever signed anything", &verify(&dir, &[]), 1);
    tell("there is no such directory", &run(&["audit", "verify", "--data-dir", "no/such/directory"]), 1);
    golden::check("audit-verify.txt", &format!("{}\n", text.trim_end()));
}

#[test]
fn programs_get_json() {
    let dir = SignedDir::new();
    let answer = |status: i32| -> Value {
        let ended = verify(&dir, &["--json"]);
        assert_eq!((ended.status, ended.stderr.as_str()), (status, ""), "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let mut proven = answer(0);
    let link = proven["audit"]["link"].take();
    assert_eq!(link.as_str().unwrap().len(), 64);
    let expected = json!({
        "valid": true, "segments": 5, "pruned": 0, "records": RECORDS, "incomplete": 0, "rollups": 0,
        "audit": {"checked": true, "entries": ENTRIES, "newer": 0, "last": ENTRIES, "link": null},
        "public_key": dir.public_key, "signed_at": "2026-09-21T14:13:20.000Z",
    });
    assert_eq!(proven, expected);
    dir.sql("UPDATE audit SET after = NULL WHERE seq = 2");
    let bad = answer(1);
    let file = dir.database().display().to_string();
    assert_eq!((&bad["valid"], &bad["audit_entry"], &bad["file"]), (&json!(false), &json!(2), &json!(file)));
    change(&dir.segment(0), |bytes| bytes[3 * 128] ^= 1);
    let bad = answer(1);
    assert_eq!((&bad["segment"], &bad["record"]), (&json!(0), &json!(2)));
    change(&dir.database(), |bytes| bytes.truncate(100));
    change(&dir.segment(0), |bytes| bytes[3 * 128] ^= 1);
    let unread = answer(1);
    assert!(unread["problem"].as_str().unwrap().contains("audit log"), "{unread}");
}

#[test]
fn a_log_that_is_elsewhere_is_not_called_proven() {
    let dir = SignedDir::new();
    // As the database of a node looks that shares its store.
    dir.sql("DELETE FROM audit");
    assert_eq!(verify(&dir, &[]).status, 1, "it is gone");
    dir.sql("INSERT INTO meta (key, value) VALUES ('node', x'01')");
    let ended = verify(&dir, &[]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(ended.stderr.contains("the audit log was not checked: "), "{ended:?}");
    assert!(ended.stdout.contains("not checked"), "{ended:?}");
    let shown: Value = serde_json::from_str(&verify(&dir, &["--json"]).stdout).unwrap();
    assert_eq!(shown["audit"]["checked"], json!(false));
}

/// The page about it.
const PAGE: &str = include_str!("../../../../docs/audit.md");

#[test]
fn every_line_of_the_page_works() {
    let dir = SignedDir::new();
    let typed = PAGE.lines().filter_map(|line| line.strip_prefix("$ sluicegate "));
    let mut lines = 0;
    for line in typed {
        let line = line.replace("/var/lib/sluicegate", dir.text()).replace("$PUBLIC_KEY", &dir.public_key);
        let words: Vec<&str> = line.split(' ').collect();
        let ended = run(&words);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{line}");
        lines += 1;
    }
    assert!(lines >= 3, "{lines}");
}
