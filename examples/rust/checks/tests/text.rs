//! The examples are short, and the documentation shows the files that are compiled.

use checks::process::examples;
use std::fs::read_to_string;

const EXAMPLES: [&str; 6] =
    ["axum-minimal", "axum-embedded", "axum-remote", "tonic-embedded", "hyper-embedded", "client"];

/// In the order of the page.
const COMPARED: [&str; 6] = [
    "compare-sluicegate",
    "compare-tower-governor",
    "compare-actix-governor",
    "compare-limitador",
    "compare-sluicegate-client",
    "compare-reqwest-retry",
];

fn program(package: &str) -> String {
    read_to_string(examples().join(package).join("src/main.rs")).unwrap()
}

#[test]
fn every_example_is_shorter_than_40_lines() {
    for package in EXAMPLES {
        let lines = program(package).lines().count();
        assert!(lines < 40, "{package} has {lines} lines");
    }
}

#[test]
fn from_nothing_to_a_429_are_ten_lines_of_code() {
    let text = program("axum-minimal");
    let code = text.lines().filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert_eq!(code.count(), 10);
}

#[test]
fn the_comparison_shows_the_programs_that_are_compiled() {
    let page = read_to_string(examples().join("../../docs/library-comparison.md")).unwrap();
    let shown: Vec<&str> = page
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```\n").next().expect("a block ends"))
        .collect();
    assert_eq!(shown.len(), COMPARED.len());
    for (package, shown) in COMPARED.into_iter().zip(shown) {
        assert_eq!(shown, program(package), "the page shows another text of {package}");
    }
}
