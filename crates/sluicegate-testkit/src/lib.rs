//! What the tests of Sluicegate have in common: the reference model of `docs/algorithms.md`, and what it takes to
//! talk to real servers over real sockets, good ones and bad ones.

pub mod bucket;
pub mod chaos;
pub mod dice;
pub mod express;
pub mod faketime;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod http;
pub mod jwt;
pub mod model;
pub mod port;
pub mod proxies;
pub mod python;
pub mod receiver;
pub mod redis;
pub mod server;
pub mod upstream;
pub mod wait;
