//! Files and modules are named by what they are about.

use crate::expect_none;
use crate::scanner::modules;
use crate::tracked::{files, rust_files};

/// A name that ends in one of these says nothing about what is inside.
const EMPTY: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "misc", "manager"];

#[test]
fn no_module_is_a_mod_rs() {
    let found = rust_files().filter(|file| file.name() == "mod.rs");
    let places: Vec<String> = found.map(|file| file.path.clone()).collect();
    expect_none(&places, "Write `foo.rs` beside the folder `foo`.");
}

#[test]
fn every_file_and_module_is_named_by_what_it_is_about() {
    // The folders of `.proto` files are packages, whose names are those of whoever made the protocol.
    let ours = files().iter().filter(|file| !file.path.contains("/proto/"));
    let paths = ours.filter(|file| file.path.split('/').any(is_empty)).map(|file| file.path.clone());
    let modules = rust_files().flat_map(|file| {
        let named = modules(&file.text).into_iter().filter(|(name, _)| is_empty(name));
        named.map(move |(name, line)| format!("{}:{line}: mod {name}", file.path))
    });
    expect_none(&paths.chain(modules).collect::<Vec<_>>(), "Name it by what it does or what it holds.");
}

fn is_empty(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    stem.rsplit(['_', '-']).next().is_some_and(|last| EMPTY.contains(&last.to_lowercase().as_str()))
}

#[test]
fn a_name_is_empty_by_its_last_word() {
    assert!(["util", "utils.rs", "store_helpers.rs", "key-manager", "Common"].into_iter().all(is_empty));
    assert!(
        ["uncommon.rs", "utility.rs", "helper_text.rs", "main.rs", ""]
            .into_iter()
            .all(|name| !is_empty(name))
    );
}
