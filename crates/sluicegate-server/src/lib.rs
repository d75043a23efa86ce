//! Internal to Sluicegate: no semver promise. Use the program `sluicegate`.
//!
//! The listeners: the gateway, the decision API, and commands as Redis has them.
//!
//! They are siblings that never see each other: each asks the engine, and renders what it says.

mod access;
pub mod decision;
mod field;
pub mod gateway;
mod keep;
pub mod listen;
pub mod resp;
pub mod shape;

pub use access::Access;
