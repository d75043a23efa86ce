//! Decisions by a Tollgate elsewhere, over its decision API.

mod ask;
mod denial;
mod layer;
mod permit;
mod unreachable;

pub use layer::{Remote, RemoteLayer};
pub(crate) use permit::Permit;
pub use unreachable::{Undecided, Unreachable};
