//! `sluicegate config check`: files that are good, missing, too large, or not files at all.

use std::fs::{self, File};
use std::path::PathBuf;

use crate::golden;
use crate::run::{run, run_with_input};

/// A path for a file of one test.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn a_valid_file_is_one_friendly_line() {
    let path = scratch("valid.yaml");
    fs::write(
        &path,
        "tiers: {free: {rate: 1}, pro: {rate: 2, quota: 3}}\nroutes: {search: {match: /search}}\n",
    )
    .unwrap();
    let path = path.to_str().unwrap();
    let ended = run(&["config", "check", path]);
    assert_eq!(ended.stdout, format!("{path} is valid: 2 tiers, 1 route, 3 limits\n"));
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let ended = run(&["config", "check", path, "--json"]);
    assert_eq!(ended.stdout, "{\n  \"valid\": true,\n  \"problems\": []\n}\n");
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn problems_come_as_json_too() {
    let ended = run(&["config", "check", "--json", "broken/misspelt-tier-key.yaml"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (78, ""));
    golden::check("check-misspelt-tier-key.json", &ended.stdout);
}

#[test]
fn a_dash_reads_standard_input() {
    let ended = run_with_input(&["config", "check", "-"], b"tiers: {free: {rate: 1}}");
    assert_eq!(ended.stdout, "<stdin> is valid: 1 tier, 0 routes, 1 limit\n");
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let ended = run_with_input(&["config", "check", "-"], b"tiers: {free: {rte: 1}}");
    assert_eq!((ended.status, ended.stdout.as_str()), (78, ""));
    assert!(ended.stderr.starts_with("<stdin>:1:16: error: unknown key `rte`\n"), "{ended:?}");
    assert!(ended.stderr.ends_with("\n1 problem in <stdin>\n"), "{ended:?}");
}

const WARNED: &[u8] = b"tiers: {free: {rate: 1, burst: 5}, pro: {rate: 9, burst: 90}}
routes:
  export: {match: /export, cost: 6}
";

#[test]
fn a_cost_that_some_tiers_never_admit_is_a_warning() {
    let ended = run_with_input(&["config", "check", "-"], WARNED);
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "<stdin> is valid: 2 tiers, 1 route, 2 limits\n"));
    golden::check("check-warning.txt", &ended.stderr);
    let ended = run_with_input(&["config", "check", "-", "--json"], WARNED);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    golden::check("check-warning.json", &ended.stdout);
}

#[test]
fn what_cannot_be_read_is_a_failure_with_its_reason() {
    for verb in ["check", "explain"] {
        let ended = run(&["config", verb, "broken/no-such-file.yaml"]);
        assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
        let wanted = "error: cannot read broken/no-such-file.yaml: No such file or directory";
        assert!(ended.stderr.starts_with(wanted), "{ended:?}");
        let ended = run(&["config", verb, "broken"]);
        assert_eq!((ended.status, ended.stdout.as_str()), (1, ""));
        assert!(ended.stderr.starts_with("error: cannot read broken: "), "{ended:?}");
    }
}

#[test]
fn a_file_of_100_megabytes_is_refused_without_being_read() {
    let path = scratch("large.yaml");
    File::create(&path).unwrap().set_len(100 << 20).unwrap();
    let ended = run(&["config", "check", path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    assert_eq!((ended.status, ended.stdout.as_str()), (78, ""));
    assert!(ended.stderr.contains("error: the file is larger than 1048576 bytes"), "{ended:?}");
    assert!(ended.stderr.len() < 1_000);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_an_end_is_refused_at_once() {
    let ended = run(&["config", "check", "/dev/zero"]);
    assert_eq!(ended.status, 78);
    assert!(ended.stderr.contains("larger than"), "{ended:?}");
}
