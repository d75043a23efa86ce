//! Which of our crates may use which: an arrow that is not in the table is a decision, not an import.

use crate::expect_none;
use crate::tracked::{files, root};
use serde_json::Value;
use std::process::Command;

/// A crate, and those of ours that it may use.
struct Layer {
    name: &'static str,
    uses: &'static [&'static str],
}

const LAYERS: [Layer; 12] = [
    Layer {
        name: "sluicegate",
        uses: &[
            "sluicegate-admin",
            "sluicegate-core",
            "sluicegate-engine",
            "sluicegate-ledger",
            "sluicegate-node",
            "sluicegate-server",
            "sluicegate-store",
            "sluicegate-tower",
        ],
    },
    Layer {
        name: "sluicegate-admin",
        uses: &[
            "sluicegate-core",
            "sluicegate-engine",
            "sluicegate-ledger",
            "sluicegate-node",
            "sluicegate-store",
        ],
    },
    Layer {
        name: "sluicegate-bench",
        uses: &["sluicegate-core", "sluicegate-ledger", "sluicegate-store", "sluicegate-engine"],
    },
    Layer { name: "sluicegate-client", uses: &[] },
    Layer { name: "sluicegate-core", uses: &[] },
    Layer { name: "sluicegate-engine", uses: &["sluicegate-core", "sluicegate-ledger", "sluicegate-store"] },
    Layer { name: "sluicegate-ledger", uses: &["sluicegate-core"] },
    Layer {
        name: "sluicegate-node",
        uses: &["sluicegate-core", "sluicegate-engine", "sluicegate-ledger", "sluicegate-store"],
    },
    Layer {
        name: "sluicegate-server",
        uses: &[
            "sluicegate-core",
            "sluicegate-engine",
            "sluicegate-ledger",
            "sluicegate-node",
            "sluicegate-store",
            "sluicegate-tower",
        ],
    },
    Layer { name: "sluicegate-store", uses: &["sluicegate-core"] },
    Layer { name: "sluicegate-testkit", uses: &[] },
    Layer {
        name: "sluicegate-tower",
        uses: &[
            "sluicegate-admin",
            "sluicegate-client",
            "sluicegate-core",
            "sluicegate-engine",
            "sluicegate-node",
            "sluicegate-store",
        ],
    },
];

/// Tests of every crate may use these, and nothing else of ours that the crate itself may not.
const FOR_TESTS: [&str; 2] = ["sluicegate-testkit", "sluicegate-client"];

/// Tests of the first may use the second: an open event stream ends when the listener drains.
const TESTS_USE: [(&str, &str); 1] = [("sluicegate-admin", "sluicegate-server")];

#[test]
fn every_crate_uses_only_the_crates_below_it() {
    let crates = crates();
    let ours: Vec<&str> = crates.iter().map(|it| text(it, "name")).collect();
    let mut places = Vec::new();
    for it in &crates {
        let name = text(it, "name");
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
            places.push(format!("{name}: it is not in the table of layers.rs"));
            continue;
        };
        let used = it["dependencies"].as_array().unwrap().iter();
        let wrong = used.filter(|used| ours.contains(&text(used, "name")) && !may_use(layer, used));
        places.extend(wrong.map(|used| format!("crates/{name}/Cargo.toml: {}", text(used, "name"))));
    }
    let gone = LAYERS.iter().filter(|layer| !ours.contains(&layer.name));
    places.extend(gone.map(|layer| format!("{}: there is no such crate", layer.name)));
    expect_none(&places, "Move what is needed down, or change the table of layers.rs and ARCHITECTURE.md.");
}

fn may_use(layer: &Layer, used: &Value) -> bool {
    let name = text(used, "name");
    layer.uses.contains(&name)
        || (used["kind"] == "dev" && FOR_TESTS.contains(&name) && !FOR_TESTS.contains(&layer.name))
        || (used["kind"] == "dev" && TESTS_USE.contains(&(layer.name, name)))
}

#[test]
fn every_crate_inherits_the_lints_of_the_workspace() {
    // Those in examples/ are to be copied, and stand alone.
    let crates = files().iter().filter(|file| file.path.starts_with("crates/"));
    let manifests = crates.filter(|file| file.name() == "Cargo.toml" && file.text.contains("[package]\n"));
    let without = manifests.filter(|file| !file.text.contains("\n[lints]\nworkspace = true\n"));
    let places: Vec<String> = without.map(|file| file.path.clone()).collect();
    expect_none(&places, "Write `[lints]` and below it `workspace = true`.");
}

/// The members of the workspace, as cargo describes them.
fn crates() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => vec![other],
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}
