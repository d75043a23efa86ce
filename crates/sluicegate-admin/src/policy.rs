//! The policy: what is in force, and whether another could be.

pub(super) mod show;
pub(super) mod validate;
