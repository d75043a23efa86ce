//! The suite `ledger`, as short as it can be run.

#![allow(clippy::float_arithmetic, reason = "the figures are floating point")]

use serde_json::Value;
use std::process::Command;

#[test]
fn the_quick_ledger_suite_prints_one_object_per_line_for_every_case() {
    let output = Command::new(env!("CARGO_BIN_EXE_sluicegate-bench"))
        .args(["ledger", "--json", "--quick"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cases: Vec<&str> = rows.iter().map(|row| row["case"].as_str().unwrap()).collect();
    assert_eq!(cases.len(), 9, "{cases:?}");
    assert!(rows.iter().all(|row| row["ours"].as_f64().unwrap() > 0.0), "{text}");
}
