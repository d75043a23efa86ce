//! The adaptive mode against simulated servers, in simulated time.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod behaviour;
mod properties;
#[path = "../../examples/pacing/simulation.rs"]
mod simulation;
