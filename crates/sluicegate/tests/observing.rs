//! The files for Prometheus and Grafana: they name what there is, and promtool agrees with them.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Every word of a text that is the name of a metric of ours.
fn metrics(text: &str) -> BTreeSet<String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !inner(c)).filter(|word| word.starts_with("sluicegate_"));
    let plain = |word: &str| {
        let end = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| word.strip_suffix(end));
        end.unwrap_or(word).to_owned()
    };
    words.map(plain).collect()
}

/// The names of all metrics: those that stand in the code that writes them.
fn written() -> BTreeSet<String> {
    fn sources(dir: &Path, text: &mut String) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, text);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut text = String::new();
    sources(&root().join("crates/sluicegate-admin/src"), &mut text);
    metrics(&text).into_iter().filter(|name| text.contains(&format!("\"{name}\""))).collect()
}

fn expect_written(file: &str, named: &BTreeSet<String>) {
    let known = written();
    let unknown: Vec<&String> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "{file} names what nobody writes: {unknown:?}");
    assert!(named.len() > 8, "{file} names hardly anything: {named:?}");
}

const RULES: &str = "packaging/prometheus/sluicegate.rules.yml";
const DASHBOARD: &str = "packaging/grafana/sluicegate.json";

#[test]
fn the_rules_name_metrics_that_there_are_and_each_is_tested() {
    let rules = text(RULES);
    let expressions: String = rules.lines().filter(|line| !line.contains("summary:")).collect();
    expect_written(RULES, &metrics(&expressions));
    let tests = text("packaging/prometheus/sluicegate.rules.test.yml");
    for name in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(tests.contains(&format!("alertname: {name}")), "{name} has no test");
    }
}

/// `scripts/test` installs it where it is missing.
#[test]
fn promtool_agrees_with_the_rules_and_their_tests() {
    #[expect(
        clippy::disallowed_methods,
        reason = "where programs lie is told by the environment of the tests"
    )]
    let promtool = std::env::var_os("SLUICEGATE_PROMTOOL").unwrap_or_else(|| "promtool".into());
    for args in [["check", "rules", "sluicegate.rules.yml"], ["test", "rules", "sluicegate.rules.test.yml"]] {
        let mut command = Command::new(&promtool);
        let ran = command.args(args).current_dir(root().join("packaging/prometheus")).output();
        let output = ran.expect("promtool can be started: run scripts/test, which gets it");
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
        assert!(output.status.success(), "promtool {}:\n{said}", args.join(" "));
    }
}

#[test]
fn the_dashboard_shows_metrics_that_there_are_from_a_source_that_is_chosen() {
    let dashboard: Value = serde_json::from_str(&text(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "two panels have one id");
    let mut named = BTreeSet::new();
    let mut places = BTreeSet::new();
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(!title.is_empty() && panel["type"].is_string());
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        let grid = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| grid[side].as_u64().unwrap());
        assert!(x + w <= 24, "{title} does not fit");
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(places.insert(place), "{title} covers another panel");
        }
        let targets = panel["targets"].as_array().unwrap();
        let letters: BTreeSet<&str> =
            targets.iter().map(|target| target["refId"].as_str().unwrap()).collect();
        assert!(!targets.is_empty() && letters.len() == targets.len(), "{title}");
        for target in targets {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            let expression = target["expr"].as_str().unwrap();
            let found = metrics(expression);
            assert!(!found.is_empty() && expression.contains("job=~\"$job\""), "{title}: {expression}");
            named.extend(found);
        }
    }
    expect_written(DASHBOARD, &named);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let kinds: Vec<(&str, &str)> =
        variables.iter().map(|it| (it["name"].as_str().unwrap(), it["type"].as_str().unwrap())).collect();
    assert_eq!(kinds, [("datasource", "datasource"), ("job", "query")]);
    assert!(
        dashboard.get("id").is_none()
            && dashboard["uid"] == "sluicegate"
            && dashboard["schemaVersion"].is_u64()
    );
}
