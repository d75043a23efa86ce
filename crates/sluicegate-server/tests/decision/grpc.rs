//! gRPC on the decision port, over real connections.

mod authz;
pub(crate) mod client;
mod credentials;
mod descriptors;
mod health;
mod hostile;
mod ratelimit;
mod ratelimit_together;
mod reflection;
