//! The presets of `examples/`: each is served as it stands, and its story is played through real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]
#![expect(clippy::panic, reason = "an answer that may not be fails its test with what it was")]

#[path = "../serve/bed.rs"]
#[expect(dead_code, reason = "other tests do more with it")]
mod bed;
mod cistern;
mod regulatory_hub;
mod saas_plans;
mod spend;
#[path = "../serve/tracker/story.rs"]
mod story;
mod trackersync;
mod user_api;
