//! What the directory promises, over a real file.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod accounts;
mod room;
