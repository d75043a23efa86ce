//! `docs/configuration.md` is what the reader of policy files knows: every key with its form, its default and its
//! meaning, and the example of its section. `SLUICEGATE_BLESS=1` writes the page anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;
mod forms;
mod page;

use std::path::{Path, PathBuf};

use sluicegate_core::file::schema;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_page_says_what_the_reader_knows() {
    let full = std::fs::read_to_string(root().join("examples/full.yaml")).unwrap();
    let page = page::page(&schema(), &full);
    let path = root().join("docs/configuration.md");
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites golden files")]
    let blessing = std::env::var_os("SLUICEGATE_BLESS").is_some_and(|value| value == "1");
    if blessing {
        std::fs::write(&path, &page).unwrap();
    }
    let told = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = told.lines().zip(page.lines()).position(|(told, known)| told != known);
    assert!(
        told == page,
        "docs/configuration.md is stale from line {}: write it anew with \
         SLUICEGATE_BLESS=1 cargo test -p sluicegate-core --test configuration",
        differs.unwrap_or(told.lines().count().min(page.lines().count())) + 1
    );
}

#[test]
fn every_section_has_an_example() {
    let full = std::fs::read_to_string(root().join("examples/full.yaml")).unwrap();
    let schema = schema();
    for section in schema["properties"].as_object().unwrap().keys() {
        assert!(examples::of(&full, section).is_some(), "examples/full.yaml has no `{section}`");
    }
}
