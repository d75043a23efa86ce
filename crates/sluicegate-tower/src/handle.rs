//! The handle: an engine in this process, its accounts, its policy, and its background work.

mod accounts;
mod error;
mod key;
mod open;

use std::fmt;
use std::io;
use std::sync::Arc;

use sluicegate_engine::Engine;
use sluicegate_node::Node;

pub use accounts::{Account, Accounts};
pub use error::{AccountError, OpenError, PolicyError, WatchError};
pub use key::{ApiKey, EnsuredKey, Key, KeyEnv, NewKey};
pub use open::OpenSluicegate;

use crate::layer::SluicegateLayer;

/// A Sluicegate in this process: plans, accounts, keys, usage, and the background work that keeps them.
///
/// Clones are cheap and share everything. The background work (saving meters, rolling up and signing usage, alerts and
/// their delivery, exports, pruning) goes on for as long as a clone, or a layer made from one, exists. It must be
/// opened, and used, within a tokio runtime.
///
/// ```
/// use axum::{Router, body::Body, http::Request, routing::get};
/// use sluicegate_tower::Sluicegate;
/// use tower::ServiceExt as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = "{identity: {anonymous: free}, tiers: {free: {rate: 1/minute, burst: 2}}}";
/// let gate = Sluicegate::in_memory(policy).await?;
/// let app = Router::new().route("/", get(async || "hello")).layer(gate.layer());
///
/// for expected in [200, 200, 429] {
///     let request = Request::get("/").body(Body::empty())?;
///     assert_eq!(app.clone().oneshot(request).await?.status(), expected);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sluicegate {
    node: Arc<Node>,
    #[cfg(feature = "admin")]
    admin_token: sluicegate_admin::AdminToken,
}

impl Sluicegate {
    /// Opens with the policy in this file, and the data directory `./sluicegate-data` unless
    /// [`data_dir`](OpenSluicegate::data_dir) names another. Everything else that can be chosen is a method of what
    /// this returns; `.await` opens it.
    ///
    /// The sections `server` (but for `trusted_proxies` and `max.clients`) and `identity.challenge` concern the program
    /// `sluicegate` alone. A setting that needs a feature which is not enabled is an error, never ignored.
    pub fn open(policy: impl AsRef<std::path::Path>) -> OpenSluicegate {
        OpenSluicegate::file(policy.as_ref().to_owned())
    }

    /// Opens with this text as its policy, and keeps nothing: its files are in a temporary directory that is removed
    /// in the end. For tests, and for limits without a bill.
    pub fn in_memory(policy: impl Into<String>) -> OpenSluicegate {
        OpenSluicegate::text(policy.into())
    }

    /// The middleware. All layers of one handle share their limits.
    pub fn layer(&self) -> SluicegateLayer {
        SluicegateLayer::kept(Arc::clone(&self.node))
    }

    /// Accounts and keys.
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts::new(&self.node)
    }

    /// Puts another policy in force, for the next request on, and returns its version. What was used so far stays
    /// used. If anything is wrong with the text, nothing changes.
    pub fn reload(&self, policy: &str) -> Result<u64, PolicyError> {
        self.node.reloader().replace(policy).map_err(PolicyError)
    }

    /// Watches the policy file it was opened with: whenever the file is saved it is read, checked, and put in force.
    /// A file with mistakes is logged, and leaves the policy as it is.
    pub fn watch(&self) -> Result<(), WatchError> {
        let reloader = Arc::clone(self.node.reloader());
        if reloader.source().path().is_none() {
            return Err(WatchError::NoFile);
        }
        self.node.watch(move || reloader.reload()).map(drop).map_err(WatchError::System)
    }

    /// The admin API and the dashboard, at the root or under `nest`. Every call but `/health` and `/ready` needs the
    /// [admin token](Sluicegate::admin_token).
    #[cfg(feature = "admin")]
    pub fn admin_router(&self) -> axum::Router {
        let (books, reload) = (Arc::clone(self.node.books()), Arc::clone(self.node.reloader().state()));
        let token = self.admin_token;
        sluicegate_admin::router(sluicegate_admin::AdminState { books, token, reload })
    }

    /// A layer that sends a span of every request to an OpenTelemetry collector. Put it around the deciding layer.
    #[cfg(feature = "otlp")]
    pub fn otlp_layer(
        &self,
        settings: crate::otlp::OtlpSettings,
    ) -> Result<crate::otlp::OtlpLayer, crate::otlp::OtlpError> {
        crate::otlp::OtlpLayer::start(Arc::clone(self.engine()), settings)
    }

    /// The token of the admin API: the one that was given, or the one that is kept in the data directory.
    pub fn admin_token(&self) -> &str {
        &self.node.secrets().admin_token
    }

    /// Stops the background work and writes everything to disk, so that the next start has nothing to count again.
    /// Call it after the server has ended. Without it the same happens when the last clone and layer are dropped, on
    /// the thread that drops them.
    pub async fn shutdown(self) -> io::Result<()> {
        self.node.shutdown().await
    }

    /// The engine, for front ends that this crate does not have.
    #[doc(hidden)]
    pub fn engine(&self) -> &Arc<Engine> {
        self.node.engine()
    }
}

impl fmt::Debug for Sluicegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sluicegate").field("data_dir", &self.node.data_dir().path()).finish_non_exhaustive()
    }
}
