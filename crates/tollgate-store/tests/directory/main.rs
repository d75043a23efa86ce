//! What the directory and its database promise, over real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod accounts;
mod crash;
mod database_checkpoint;
mod database_file;
mod full_disk;
mod groups;
mod keys;
mod lists;
mod model;
mod room;
mod rotation;
mod values;
