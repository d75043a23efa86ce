//! Tower middleware that decides who may pass: rate limits, quotas and concurrency by plan, for axum, hyper, tonic and
//! any other HTTP service.
//!
//! A request that may pass goes on with who is calling in its extensions ([`Decision`]) and headers, and its answer
//! carries what the limits say. One that may not is answered here: 429, 402, 401, 403 or 503, each with an
//! `application/problem+json` document. Tollgate's own gateway runs this very layer before it forwards.
//!
//! | feature | layer | who decides |
//! |---|---|---|
//! | `embedded` (default) | [`TollgateLayer`] | an engine in this process, in about a microsecond |
//! | `remote` | [`RemoteLayer`] | a Tollgate elsewhere, over its decision API; no engine is built for it |
//!
//! # An engine in the process
//!
//! Accounts, keys and usage live in a directory. Kill the process at any moment: nothing that was admitted is lost.
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```text")]
//! use axum::{Router, body::Body, http::Request, routing::get};
//! use tollgate_tower::{Embedded, TollgateLayer};
//! use tower::ServiceExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let dir = folder.path();
//! let policy = "{identity: {anonymous: free}, tiers: {free: {rate: 1/minute, burst: 2}}}";
//! let tollgate = Embedded::read(policy)?.keep(dir)?;
//! let app = Router::new().route("/", get(async || "hello")).layer(TollgateLayer::new(tollgate.engine()));
//!
//! for expected in [200, 200, 429] {
//!     let request = Request::get("/").body(Body::empty())?;
//!     assert_eq!(app.clone().oneshot(request).await?.status(), expected);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Who is calling, and what it cost
//!
//! Handlers find a [`Decision`] in the extensions of their request. Where the layer is
//! [`holding`](TollgateLayer::holding) they find an [`InFlight`] too, and can say what the request truly cost: it is
//! settled when the answer has ended.
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```text")]
//! use axum::{Extension, Router, body::Body, http::Request, routing::post};
//! use tollgate_tower::{Decision, Embedded, InFlight, TollgateLayer};
//! use tower::ServiceExt as _;
//!
//! async fn render(Extension(decision): Extension<Decision>, Extension(request): Extension<InFlight>) -> String {
//!     request.cost(3);
//!     format!("{} of {}", decision.account().unwrap_or("somebody"), decision.tier().unwrap_or("no tier"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let dir = folder.path();
//! let tollgate = Embedded::read("{tiers: {pro: {rate: 10, quota: 1_000}}}")?.keep(dir)?;
//! let key = tollgate.key_for("acme", "pro").await?;
//! let layer = TollgateLayer::new(tollgate.engine()).holding();
//! let app = Router::new().route("/render", post(render)).layer(layer);
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
//! # A Tollgate elsewhere
//!
//! What becomes of requests while it cannot be reached has no default: say [`Unreachable::Deny`] or
//! [`Unreachable::Admit`]. Each request waits for its decision as long as the timeout says and no longer.
//!
#![cfg_attr(feature = "remote", doc = "```")]
#![cfg_attr(not(feature = "remote"), doc = "```text")]
//! use std::time::Duration;
//! use axum::{Router, body::Body, http::Request, routing::get};
//! use tollgate_tower::{DecisionClient, RemoteLayer, Unreachable};
//! use tower::ServiceExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Nobody listens there: every request is answered with 503.
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
//! [`Peer`] in the request's extensions, or from where [`TollgateLayer::peer_from`] says. With axum, served with
//! `into_make_service_with_connect_info::<SocketAddr>()`:
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```text")]
//! # use std::net::SocketAddr;
//! # use axum::extract::ConnectInfo;
//! # fn of(engine: std::sync::Arc<tollgate_tower::Engine>) -> tollgate_tower::TollgateLayer {
//! tollgate_tower::TollgateLayer::new(engine)
//!     .peer_from(|extensions| extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0))
//! # }
//! ```
//!
//! With tonic it is `extensions.get::<TcpConnectInfo>()?.remote_addr()`, and the layer goes to
//! `Server::builder().layer(…)`; frames and trailers of answers pass unchanged. A refusal is an HTTP answer with its
//! status, from which gRPC clients make theirs: 429 and 503 are `UNAVAILABLE`, 401 is `UNAUTHENTICATED`, 403 is
//! `PERMISSION_DENIED`. With bare hyper, wrap the tower service in `hyper_util::service::TowerToHyperService`.
//!
//! # Names of requests
//!
//! A request that changes something may have a name, in the header `Idempotency-Key`. One that repeats it within a day
//! goes on to the service again, under the same decision, and is charged to rates and slots alone; the service has to
//! know for itself that the work is done. The same name for another request is answered with 422.

// What is not built cannot be linked to.
#![cfg_attr(not(all(feature = "embedded", feature = "remote")), allow(rustdoc::broken_intra_doc_links))]

#[cfg(not(any(feature = "embedded", feature = "remote")))]
compile_error!("choose who decides: the feature `embedded`, `remote`, or both");

mod body;
mod decision;
mod denial;
mod future;
mod guard;
mod introduce;
#[cfg(feature = "embedded")]
mod layer;
mod merge;
mod note;
#[cfg(feature = "embedded")]
mod passage;
mod passing;
mod peer;
#[cfg(feature = "remote")]
mod remote;
mod said;

pub use body::GuardedBody;
pub use decision::{Decision, Limit, Mode};
#[cfg(feature = "embedded")]
pub use denial::denial;
pub use denial::problem;
pub use future::Answering;
pub use guard::InFlight;
#[cfg(feature = "embedded")]
pub use layer::{Passed, Tollgate, TollgateLayer};
pub use note::{Note, Noted};
pub use peer::Peer;
#[cfg(feature = "remote")]
pub use remote::{Remote, RemoteLayer, Undecided, Unreachable};
#[cfg(feature = "remote")]
pub use tollgate_client::DecisionClient;
#[cfg(feature = "embedded")]
pub use tollgate_engine::{Embedded, EmbeddedError, Engine, Kept};

/// How callers are told apart, as the sections `identity` and `server` of a policy say.
pub mod identity {
    pub use tollgate_core::policy::{ForwardedHeader, HeaderName, Identity, KeyPlace, Network, Proxies};
}

#[cfg(all(doctest, feature = "embedded", feature = "remote"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "embedded", feature = "remote"))]
#[doc = include_str!("../../../docs/tower.md")]
struct Page;
