//! Tower middleware that decides who may pass: rate limits, quotas and concurrency by plan, for axum, hyper, tonic and
//! any other HTTP service.
//!
//! A request that may pass goes on with who is calling in its extensions ([`Decision`]) and headers, and its answer
//! carries what the limits say. One that may not is answered here: 429, 402, 401, 403 or 503, each with an
//! `application/problem+json` document. Sluicegate's own gateway runs this very layer before it forwards.
//!
//! # In the process
//!
//! Accounts, keys and usage are kept in a data directory: kill the process at any moment, and nothing that was admitted
//! is lost. [`Sluicegate::in_memory`] keeps nothing, for tests.
//!
#![cfg_attr(feature = "embedded", doc = "```no_run")]
#![cfg_attr(not(feature = "embedded"), doc = "```text")]
//! use axum::{Router, routing::get};
//! use sluicegate_tower::Sluicegate;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let gate = Sluicegate::open("policy.yaml").await?;
//!     let app = Router::new().route("/", get(async || "hello")).route_layer(gate.layer());
//!     axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?;
//!     Ok(gate.shutdown().await?)
//! }
//! ```
//!
//! `route_layer` decides on requests that match a route. With `layer`, a request that ends in a 404 is decided on, and
//! charged, as well.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `embedded` (default) | [`Sluicegate`]: decisions in this process, in about a microsecond |
//! | `axum` | finds the address of a connection where axum has it |
//! | `admin` | [`Sluicegate::admin_router`]: the admin API and the dashboard as an axum router |
//! | `redis` | `store: redis://…`: several nodes share accounts and limits |
//! | `export` | `ledger.export`: usage to object storage, as Parquet |
//! | `tls` | `rediss://`, webhooks and object storage over HTTPS, with the rustls provider of the application |
//! | `aws-lc` | `tls` with `aws-lc-rs`, where the application has installed no provider |
//! | `otlp` | [`Sluicegate::otlp_layer`]: a span of every request to an OpenTelemetry collector |
//! | `remote` | [`RemoteLayer`]: decisions by a Sluicegate server, over its decision API; no engine is built for it |
//!
//! A policy that has a setting whose feature is not enabled is refused.
//!
//! # Who is calling, and what it cost
//!
//! Handlers find a [`Decision`] in the extensions of their request. With a layer that is
//! [`holding`](SluicegateLayer::holding) they find an [`InFlight`] too, and can say what the request truly cost: it is
//! settled when the response has ended.
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```text")]
//! use axum::{Extension, Router, body::Body, http::Request, routing::post};
//! use sluicegate_tower::{Decision, InFlight, Sluicegate};
//! use tower::ServiceExt as _;
//!
//! async fn render(Extension(decision): Extension<Decision>, Extension(request): Extension<InFlight>) -> String {
//!     request.cost(3);
//!     format!("{} of {}", decision.account().unwrap_or("a stranger"), decision.tier().unwrap_or("no tier"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Sluicegate::in_memory("{tiers: {pro: {rate: 10, quota: 1_000}}}").await?;
//! gate.accounts().ensure("acme", "pro").await?;
//! let (_, key) = gate.accounts().create_key("acme", "production").await?;
//! let app = Router::new().route("/render", post(render)).route_layer(gate.layer().holding());
//!
//! let send = async || {
//!     let request = Request::post("/render").header("X-API-Key", key.expose()).body(Body::empty()).unwrap();
//!     app.clone().oneshot(request).await.unwrap()
//! };
//! let first = send().await;
//! assert_eq!(axum::body::to_bytes(first.into_body(), 100).await?, "acme of pro");
//! assert_eq!(send().await.headers()["X-Quota-Remaining"], "996");
//! # Ok(())
//! # }
//! ```
//!
//! # By a Sluicegate server
//!
//! What becomes of requests while the server is unreachable has no default: say [`Unreachable::Deny`] or
//! [`Unreachable::Admit`]. Each request waits for its decision as long as the timeout says and no longer.
//!
#![cfg_attr(feature = "remote", doc = "```")]
#![cfg_attr(not(feature = "remote"), doc = "```text")]
//! use std::time::Duration;
//! use axum::{Router, body::Body, http::Request, routing::get};
//! use sluicegate_tower::{DecisionClient, RemoteLayer, Unreachable};
//! use tower::ServiceExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Nothing listens on this port: every request is answered with 503.
//! let client = DecisionClient::new("http://127.0.0.1:1")?.with_timeout(Duration::from_millis(250));
//! let app = Router::new().route("/", get(async || "hello")).layer(RemoteLayer::new(client, Unreachable::Deny));
//!
//! let answer = app.oneshot(Request::get("/").body(Body::empty())?).await?;
//! assert_eq!((answer.status().as_u16(), &answer.headers()["Retry-After"]), (503, &"1".parse()?));
//! # Ok(())
//! # }
//! ```
//!
//! Under load, `DecisionClient::batching` joins checks into one call. Keys are looked for where a policy without an
//! `identity` section has them, in `Authorization: Bearer` and `X-API-Key`; [`RemoteLayer::identity`] says otherwise.
//!
//! # Where callers come from
//!
//! Addresses count for callers without a key and for limits on addresses. The layers take that of the connection from
//! [`Peer`] in the request's extensions, or from where [`SluicegateLayer::peer_from`] says. With the feature `axum`
//! they find axum's `ConnectInfo`, which is there in an application that is served with
//! `into_make_service_with_connect_info::<SocketAddr>()`.
//!
//! With tonic, say `peer_from(|extensions| extensions.get::<TcpConnectInfo>()?.remote_addr())`; the layer goes to
//! `Server::builder().layer(…)`; frames and trailers of answers pass unchanged. A gRPC call is refused with a gRPC
//! status and no body: 429 and 402 are `RESOURCE_EXHAUSTED`, 401 is `UNAUTHENTICATED`, 403 is `PERMISSION_DENIED`,
//! 503 is `UNAVAILABLE`. With bare hyper, wrap the tower service in `hyper_util::service::TowerToHyperService`.
//!
//! # Names of requests
//!
//! A request that changes something may have a name, in the header `Idempotency-Key`. One that repeats it within a day
//! goes on to the service again, under the same decision, and is charged to rates and slots alone; the service has to
//! know for itself that the work is done. The same name for another request is answered with 422.

// What is not built cannot be linked to.
#![cfg_attr(
    not(all(feature = "admin", feature = "embedded", feature = "otlp", feature = "remote")),
    allow(rustdoc::broken_intra_doc_links)
)]

#[cfg(not(any(feature = "embedded", feature = "remote")))]
compile_error!("choose who decides: the feature `embedded`, `remote`, or both");

mod body;
mod decision;
mod decision_slot;
mod denial;
mod future;
mod grpc;
mod guard;
#[cfg(feature = "embedded")]
mod handle;
mod introduce;
#[cfg(feature = "embedded")]
mod layer;
mod merge;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "embedded")]
mod passage;
mod passing;
mod peer;
#[cfg(feature = "remote")]
mod remote;
mod said;

pub use body::GuardedBody;
pub use decision::{Decision, Limit, Mode};
pub use future::ResponseFuture;
pub use grpc::RefusalStatus;
pub use guard::InFlight;
#[cfg(feature = "embedded")]
pub use handle::{
    Account, AccountError, Accounts, ApiKey, EnsuredKey, Key, KeyEnv, NewKey, OpenError, OpenSluicegate,
    PolicyError, Sluicegate, WatchError,
};
#[cfg(feature = "embedded")]
pub use layer::{SluicegateLayer, SluicegateService};
pub use peer::Peer;
#[cfg(feature = "remote")]
pub use remote::{RemoteLayer, RemoteService, Undecided, Unreachable};
#[cfg(feature = "remote")]
pub use sluicegate_client::DecisionClient;

/// What Sluicegate's own gateway needs beside the layer. Not part of what this crate promises.
#[doc(hidden)]
pub mod gateway {
    pub use crate::decision_slot::{DecisionSlot, DecisionSummary};
    pub use crate::grpc::{GrpcCall, GrpcRefusal, RefusalStatus, UploadFault, UploadState};
    #[cfg(feature = "embedded")]
    pub use crate::layer::RouteUpstream;
}

/// The errors behind the errors of this crate.
#[cfg(feature = "embedded")]
pub mod error {
    #[cfg(feature = "admin")]
    pub use sluicegate_admin::BadToken;
    pub use sluicegate_node::watch::WatchError as SystemWatchError;
    pub use sluicegate_node::{DataDirError, NodeError, SecretsError};
    pub use sluicegate_store::directory::{FieldError, StoreError, WriteError};
}

/// How callers are told apart, as the sections `identity` and `server` of a policy say.
pub mod identity {
    pub use sluicegate_core::policy::{ForwardedHeader, HeaderName, Identity, KeyPlace, Network, Proxies};
}

#[cfg(all(doctest, feature = "embedded", feature = "remote"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "embedded", feature = "remote"))]
#[doc = include_str!("../../../docs/tower.md")]
struct Page;
