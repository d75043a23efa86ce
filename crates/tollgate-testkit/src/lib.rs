//! What the tests of Tollgate have in common: the reference model of `docs/algorithms.md`, and what it takes to talk to
//! a real server over real sockets.

pub mod dice;
pub mod http;
pub mod model;
pub mod server;
pub mod upstream;
pub mod wait;
