//! The listeners: the gateway, the decision API, the admin API, and commands as Redis has them.
//!
//! They are siblings that never see each other: each asks the engine, and renders what it says.

pub mod admin;
pub mod decision;
mod dial;
mod field;
pub mod gateway;
mod keep;
pub mod listen;
mod post;
pub mod resp;
mod secret;
pub mod shape;
pub mod trace;

pub use secret::{NoSecret, secret_at};
