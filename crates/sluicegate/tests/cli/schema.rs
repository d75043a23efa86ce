//! `sluicegate config schema`, and readers that leave early.

use std::io::Read as _;

use serde_json::Value;

use crate::run::{command, run};

#[test]
fn the_schema_is_json_that_describes_tiers() {
    let ended = run(&["config", "schema"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let schema: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(schema, sluicegate_core::file::schema());
    assert_eq!(schema["required"], serde_json::json!(["tiers"]));
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    for args in [&["config", "schema"][..], &["config", "explain", "../../../examples/full.yaml"]] {
        let mut child = command(args).spawn().unwrap();
        // Nobody reads: what is printed meets a closed pipe.
        drop(child.stdout.take());
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_verdict_survives_readers_that_leave_early() {
    let mut child = command(&["config", "check", "broken/many-problems.yaml"]).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(78));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = crate::run::ended({
        let mut command = command(&["config", "schema"]);
        command.stdout(full);
        command
    });
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.starts_with("error: cannot write to standard output: "), "{ended:?}");
}
