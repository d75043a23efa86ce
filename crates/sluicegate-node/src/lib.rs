//! Internal to Sluicegate: no semver promise. Use `sluicegate-tower`.
//!
//! One running node, whether in `sluicegate serve` or inside an application: its data directory and secrets, the policy
//! and its reloads, the engine over the configured store, and all background work ([`Node`]).

pub mod data_dir;
pub mod instant;
mod jwks;
pub mod log_gate;
pub mod net;
mod node;
pub mod peer;
mod reload;
mod reload_state;
pub mod secret_source;
pub mod secrets;
pub mod shutdown;
pub mod store;
mod unsupported;
mod upkeep;
pub mod watch;
pub mod webhook;

pub use data_dir::{DataDir, DataDirError};
pub use node::{Node, NodeError, NodeOptions};
pub use peer::{ConnTrust, ConnTrustCell, Peer, Scheme};
pub use reload::{Loaded, PolicyRejected, PolicySource, Reloader, read_head};
pub use reload_state::{LastLoads, LoadedPolicy, RejectedPolicy, ReloadState};
pub use secrets::{GivenSecrets, Secrets, SecretsError};
pub use shutdown::Shutdown;
