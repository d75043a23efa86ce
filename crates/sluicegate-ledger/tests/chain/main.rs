//! The chain from outside: what was changed is found and named, what was not is proven.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod audit;
mod fixtures;
mod flips;
mod growing;
mod lines;
mod pruning;
mod rewriting;
