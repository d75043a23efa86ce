//! How the repository is kept: each rule is a test, and a failure lists every place and what to do there.

#![expect(clippy::unwrap_used, reason = "a rule that cannot be checked should fail")]

mod dependencies;
mod headers;
mod layers;
mod leftovers;
mod links;
mod names;
mod scanner;
mod sizes;
mod text;
mod tracked;

/// Fails with all the places, unless there are none.
#[track_caller]
fn expect_none(places: &[String], advice: &str) {
    assert!(places.is_empty(), "\n{}\n{advice}\n", places.join("\n"));
}
