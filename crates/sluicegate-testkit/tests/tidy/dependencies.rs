//! What dependencies may be: their licences, where they come from, and which are not wanted. The rules are those of
//! `deny.toml`, for machines without cargo-deny or a network.

use std::process::Command;

use serde_json::Value;

use crate::expect_none;
use crate::tracked::root;

#[test]
fn dependencies_have_licences_sources_and_names_that_are_allowed() {
    let rules = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let allowed = strings(&rules, "allow = [");
    let sources = strings(&rules, "allow-registry = [");
    let banned = strings(&rules, "deny = [");
    assert!(allowed.len() > 5 && sources.len() == 1 && banned.len() > 2, "deny.toml is read: {allowed:?}");
    let wrong: Vec<String> =
        packages().iter().flat_map(|package| complaints(package, &allowed, &sources, &banned)).collect();
    expect_none(&wrong, "choose another crate, or allow it in deny.toml with the reason beside it");
}

fn complaints(package: &Value, allowed: &[String], sources: &[String], banned: &[String]) -> Vec<String> {
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let (name, licence, source) = (text("name"), text("license"), text("source"));
    let mut wrong = Vec::new();
    if banned.contains(&name) {
        wrong.push(format!("{name} is banned"));
    }
    // Those of this workspace have none.
    if !source.is_empty() && !sources.iter().any(|allowed| source == format!("registry+{allowed}")) {
        wrong.push(format!("{name} comes from {source}"));
    }
    if !is_allowed(&licence, allowed) {
        wrong.push(format!("{name} has the licence {licence:?}"));
    }
    wrong
}

/// All crates that are built here, with those of tests.
fn packages() -> Vec<Value> {
    let target = "x86_64-unknown-linux-gnu";
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", target])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().clone();
    assert!(packages.len() > 100, "{} packages", packages.len());
    packages
}

/// The texts in quotes of a list that begins like this, up to its end; comments are left out.
fn strings(rules: &str, start: &str) -> Vec<String> {
    let list = rules.lines().skip_while(|line| !line.starts_with(start));
    let mut found = Vec::new();
    for line in list {
        let line = line.split('#').next().unwrap_or_default();
        found.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        if line.contains(']') {
            break;
        }
    }
    found
}

/// Whether an expression of SPDX can be met with what is allowed. A slash is an `OR` of former times.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    words.reverse();
    !words.is_empty() && any_of(&mut words, allowed) && words.is_empty()
}

/// Parts joined by `OR`, from the end of the words on.
fn any_of(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut is_met = all_of(words, allowed);
    while words.last() == Some(&"OR") {
        words.pop();
        is_met |= all_of(words, allowed);
    }
    is_met
}

/// Parts joined by `AND`.
fn all_of(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut is_met = one(words, allowed);
    while words.last() == Some(&"AND") {
        words.pop();
        is_met &= one(words, allowed);
    }
    is_met
}

fn one(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    match words.pop() {
        Some("(") => {
            let is_met = any_of(words, allowed);
            words.pop() == Some(")") && is_met
        }
        Some(name) if words.last() == Some(&"WITH") => {
            words.pop();
            let exception = words.pop().unwrap_or_default();
            allowed.contains(&format!("{name} WITH {exception}"))
        }
        Some(name) => allowed.iter().any(|allowed| allowed == name),
        None => false,
    }
}

#[test]
fn a_licence_is_met_by_one_of_its_choices_and_all_of_its_parts() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for met in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/Apache-2.0",
        "ISC AND (Apache-2.0 OR MIT)",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(met, &allowed), "{met}");
    }
    for unmet in ["", "GPL-3.0", "MIT AND GPL-3.0", "ISC AND (GPL-3.0 OR AGPL-3.0)", "Apache-2.0", "MIT MIT"]
    {
        assert!(!is_allowed(unmet, &allowed), "{unmet}");
    }
}
