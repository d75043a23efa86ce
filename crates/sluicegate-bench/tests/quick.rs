//! The program itself, as short as it can be run.

#![allow(clippy::float_arithmetic, reason = "the figures are floating point")]

use serde_json::Value;
use std::process::Command;

const FIELDS: [&str; 8] = ["suite", "case", "unit", "better", "ours", "peer", "peer_value", "ratio"];

#[test]
fn the_quick_core_suite_prints_one_object_per_line_for_every_case_and_peer() {
    let output = Command::new(env!("CARGO_BIN_EXE_sluicegate-bench"))
        .args(["core", "--json", "--quick", "--callers", "1k,10k"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Memory, and for each of two patterns one thread, two threads and scaling; each with three peers.
    assert_eq!(rows.len(), 2 * (1 + 2 * 3) * 3);
    for row in &rows {
        let fields: Vec<&String> = row.as_object().unwrap().keys().collect();
        assert_eq!(fields, FIELDS);
        let case = row["case"].as_str().unwrap();
        assert!(case.contains("/1k") || case.contains("/10k"), "{row}");
        let [ours, peer_value, ratio] =
            ["ours", "peer_value", "ratio"].map(|field| row[field].as_f64().unwrap());
        assert!(ours > 0.0 && peer_value > 0.0, "{row}");
        assert!((0.999_999..1.000_001).contains(&(ratio * peer_value / ours)), "{row}");
    }
}
