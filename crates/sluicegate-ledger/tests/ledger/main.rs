//! The ledger as a whole: hours that are closed, sealed, exported, compared and removed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up should fail")]

mod bucket;
mod exporting;
mod fixtures;
mod keeping;
mod kill;
mod killed_bucket;
mod proof;
mod reconciling;
mod sealing;
mod sealing_s3;
mod sizes;
