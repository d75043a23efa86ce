//! The decision API, asked as its users ask it: requests in, whole answers out.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod answers;
mod bodies;
mod docs;
mod forward_auth;
mod golden;
mod grpc;
mod permits;
mod place;
mod race;
mod reloads;
mod sessions;
mod wire;
