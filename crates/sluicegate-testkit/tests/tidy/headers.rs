//! A source file says first what its one job is.

use crate::expect_none;
use crate::tracked::rust_files;

#[test]
fn every_source_file_starts_with_its_one_job() {
    let bare = rust_files().filter(|file| file.path.contains("/src/") && !file.text.starts_with("//!"));
    let places: Vec<String> = bare.map(|file| format!("{}:1", file.path)).collect();
    expect_none(
        &places,
        "Start with `//!`: the module's one job, its invariant, what is deliberately absent.",
    );
}
