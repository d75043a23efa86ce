//! Connections to other servers: upstreams, webhooks, the verifier of challenges, the collector of traces.

mod dial;
mod get;
mod post;
#[cfg(feature = "tls")]
mod tls;
mod wire;

pub use dial::{Address, Agreed, DialError, Offer, Security, dial};
pub use get::{NotGot, get};
pub use post::{NotPosted, post};
#[cfg(feature = "tls")]
pub use tls::Tls;
#[cfg(feature = "tls")]
pub(crate) use tls::provider;
pub use wire::Wire;
