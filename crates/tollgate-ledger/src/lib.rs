//! The record of what was used: an append-only spool that survives a crash.
