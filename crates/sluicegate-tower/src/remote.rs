//! Decisions by a Sluicegate server, over its decision API.

mod ask;
mod denial;
mod layer;
mod permit;
mod unreachable;

pub use layer::{RemoteLayer, RemoteService};
pub(crate) use permit::Permit;
pub use unreachable::{Undecided, Unreachable};
