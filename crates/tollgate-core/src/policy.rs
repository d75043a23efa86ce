//! A policy as it was meant: tiers with their limits, routes with their costs, and the settings around them.
//!
//! Values of these types are already checked against each other: the text of a policy file becomes one, or a list of
//! problems, in [`crate::file`].

pub mod route;
pub mod tier;

pub use route::{Route, RouteIndex, Routes};
pub use tier::{Bypass, RefundOn, Tier, TierLimit, TierName};
