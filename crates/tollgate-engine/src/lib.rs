//! Decides whether a caller may pass: who it is, what it may, what is recorded.
