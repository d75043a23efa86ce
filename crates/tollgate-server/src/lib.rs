//! The listeners: the gateway, the decision API and the admin API.
//!
//! They are siblings that never see each other: each asks the engine, and renders what it says.

pub mod admin;
pub mod decision;
mod dial;
pub mod gateway;
pub mod listen;
mod post;
mod secret;
pub mod shape;
pub mod trace;

pub use secret::{NoSecret, secret_at};
