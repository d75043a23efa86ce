//! The policy file: from bytes to a policy as it was meant, or every problem at once.
//!
//! bytes → located tree (`yaml`) → what was typed (`typed`, by `decode`) → what is meant ([`crate::policy`], by `mean`).

pub mod problem;
