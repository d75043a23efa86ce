//! The spool from outside: what was appended is found again, whatever happens in between.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod crash_images;
mod damage;
mod fixtures;
mod forgetting;
mod full_disk;
mod kill;
mod opening;
mod roll_over;
mod threads;
