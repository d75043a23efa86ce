//! `sluicegate config explain`.

use serde_json::Value;

use crate::golden;
use crate::run::run;

const MINIMAL: &str = "../../../examples/minimal.yaml";
const FULL: &str = "../../../examples/full.yaml";

#[test]
fn tiers_are_explained_as_tables() {
    for (path, name) in [(MINIMAL, "explain-minimal.txt"), (FULL, "explain-full.txt")] {
        let ended = run(&["config", "explain", path]);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
        golden::check(name, &ended.stdout);
    }
}

#[test]
fn tiers_are_explained_as_json() {
    for (path, name) in [(MINIMAL, "explain-minimal.json"), (FULL, "explain-full.json")] {
        let ended = run(&["config", "explain", "--json", path]);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
        golden::check(name, &ended.stdout);
        let explained: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(explained["tiers"].as_array().is_some_and(|tiers| tiers.len() >= 3));
    }
}

#[test]
fn an_invalid_file_is_answered_as_check_answers_it() {
    let path = "broken/misspelt-tier-key.yaml";
    let (checked, explained) = (run(&["config", "check", path]), run(&["config", "explain", path]));
    assert_eq!((explained.status, explained.stdout.as_str()), (78, ""));
    assert_eq!(explained.stderr, checked.stderr);
    let (checked, explained) =
        (run(&["config", "check", "--json", path]), run(&["config", "explain", "--json", path]));
    assert_eq!((explained.status, explained.stderr.as_str()), (78, ""));
    assert_eq!(explained.stdout, checked.stdout);
}
