//! Bytes that nobody wrote, in every file that is read back: never a panic, and never a total that is wrong in silence.
//!
//! Each case follows from its seed, which is printed when it fails. `SLUICEGATE_SLOW=1` runs twenty times as many.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod bills;
mod chains;
mod harm;
mod objects;
mod scratch;
mod segments;
