//! The gateway: what an admitted request goes through on its way to the upstream, and its answer on the way back.
//!
//! It knows no limit. It never buffers a body, never repeats a request of which a byte was sent, and never says where
//! the upstream is.

mod download;
mod echo;
mod forward;
mod guard;
mod h2;
mod headers;
mod in_flight;
mod link;
mod pool;
mod problem;
mod service;
mod steer;
mod tunnel;
mod upload;
mod upstream;

pub use download::{BodyError, ProxyBody};
pub use forward::{Forward, ForwardSettings};
pub use guard::{Guard, GuardBody, GuardFuture, GuardSettings};
pub use in_flight::InFlightByAddress;
pub use service::{Gateway, Introduce, gateway};
pub use steer::Steer;
pub use upstream::{BadUpstream, HttpTarget, Upstream, UpstreamTarget};
