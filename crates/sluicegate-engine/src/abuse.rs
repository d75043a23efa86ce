//! What a node remembers of callers that misbehave, in tables whose size is chosen when they are made.
//!
//! Nobody is refused because a table is full: an address, a client or a block beyond its table's room shares what is
//! kept with others, or takes the place of what matters least. Nothing here reads a clock or asks a store. Callers are
//! known by keyed hashes only, so nobody can choose whose place to take.

mod admin;
pub mod blocking;
pub mod blocks;
pub mod crowd;
pub mod edge;
pub mod pressure;
mod sketch;

pub use admin::{ClientNow, PressureNow, ReputationNow, StrikesNow};
pub use blocking::{BlockError, Blocking};
pub use blocks::BlockTable;
pub use crowd::{Crowd, Seat};
pub use edge::{EdgeTable, EdgeVerdict};
pub use pressure::{PressureTable, Squeeze, Squeezed};
