//! gRPC on the decision port, over real connections.

mod authz;
mod client;
mod descriptors;
mod health;
mod hostile;
mod ratelimit;
mod ratelimit_together;
mod reflection;
