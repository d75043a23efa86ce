//! Load shedding on a fake clock: offered load, an upstream of a fixed capacity, and what comes of the two.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod adapting;
mod fairness;
mod overload;
mod tickets;
mod world;
