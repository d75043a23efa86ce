//! The messages, with the fields that are read and written here; others are skipped.
//!
//! What a caller may have written is bytes here where the protocol has text: what is no text is no reason to fail a
//! call, because a proxy may let everybody pass whose call fails. On the wire both are the same.

pub(super) mod authz;
pub(super) mod header;
pub(super) mod health;
pub(super) mod ratelimit;
pub(super) mod reflection;

#[cfg(test)]
mod tests;
