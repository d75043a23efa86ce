//! The command line as a person or a script meets it: the built binary, its output to the byte, its exit status.
//!
//! What is printed is compared with golden files, in `tests/golden` and beside the broken policies of
//! `tests/broken`. After a change that is meant, `SLUICEGATE_BLESS=1 cargo test -p sluicegate --test cli`
//! rewrites them; read what it wrote.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod audit;
mod audit_flips;
mod broken;
mod check;
mod completions;
mod examples;
mod explain;
mod golden;
mod help;
mod lists;
mod live;
mod refusals;
mod run;
mod schema;
mod server;
mod signed_dir;
mod story;
mod stub;
mod tls;
mod transcript;
mod usage;
