//! HTTP client retries that obey rate limit headers: backoff, deadlines, retry budgets and adaptive pacing, for
//! reqwest and for every client that is a tower service.
//!
//! It works with every API that reports its limits in `Retry-After`, `RateLimit`, `RateLimit-*` or `X-RateLimit-*`.
//!
#![cfg_attr(feature = "reqwest", doc = "```no_run")]
#![cfg_attr(not(feature = "reqwest"), doc = "```text")]
//! use std::time::Duration;
//! use sluicegate_client::{RetryPolicy, RetryingClient};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let policy = RetryPolicy::default().with_deadline(Duration::from_secs(30));
//!     let client = RetryingClient::new(reqwest::Client::new(), policy).adaptive();
//!     let response = client.get("http://127.0.0.1:8080/reports").bearer_auth("sg_live_…").send().await?;
//!     println!("{}", response.status());
//!     Ok(())
//! }
//! ```
//!
//! | type | feature | job |
//! |---|---|---|
//! | [`RetryLayer`] | | retries for a tower service |
//! | `RetryingClient` | `reqwest` | a reqwest client with retries; `json` adds `.json(…)`, `reqwest-rustls` TLS |
//! | `RetryMiddleware` | `reqwest-middleware` | the same for `reqwest_middleware` |
//! | [`RetryPolicy`] | | when to retry and when to give up, as a pure function |
//! | [`RetryBudget`] | | limits retries to a share of the requests |
//! | [`Pacer`] | | the adaptive mode: learns rate limits and delays requests so that they are not refused |
//! | [`Limits`] | | the limits that a response reports |
//! | `DecisionClient` | `decision` (default) | asks a Sluicegate server for decisions |
//!
//! # Retries for a tower service
//!
//! ```
//! use http_body_util::Full;
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//! use sluicegate_client::{GaveUp, RetryBudget, RetryLayer, RetryPolicy};
//! use tower_layer::Layer as _;
//! use tower_service::Service as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let url = format!("http://{}/reports", listener.local_addr()?);
//! # std::thread::spawn(move || {
//! #     use std::io::{Read as _, Write as _};
//! #     for status in ["429 Too Many Requests", "502 Bad Gateway", "200 OK"] {
//! #         let (mut stream, _) = listener.accept().expect("the client connects");
//! #         let _ = stream.read(&mut [0; 4_096]);
//! #         let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
//! #     }
//! # });
//! let client = Client::builder(TokioExecutor::new()).build_http();
//! let retries = RetryLayer::new(RetryPolicy::default()).with_budget(RetryBudget::default());
//! let mut client = retries.layer(client);
//! let request = http::Request::get(&url).body(Full::<bytes::Bytes>::default())?;
//! // This server answers 429, then 502, then 200.
//! let response = client.call(request).await?;
//! assert_eq!(response.status(), 200);
//! // A failed response says why it was not retried.
//! assert!(response.extensions().get::<GaveUp>().is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # Decisions
//!
#![cfg_attr(feature = "decision", doc = "```")]
#![cfg_attr(not(feature = "decision"), doc = "```text")]
//! use std::time::Duration;
//! use sluicegate_client::decision::{Caller, Check, DecisionClient};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // Checks that are made within a millisecond are sent together.
//! let client = DecisionClient::new("http://127.0.0.1:8081")?.batching(100, Duration::from_millis(1));
//! let decision = client.check(Check::of(Caller::key("sg_live_…")).path("/reports")).await?;
//! if !decision.allowed {
//!     println!("answer {}; retry after {:?}", decision.status, decision.retry_after());
//! }
//! # Ok(())
//! # }
//! ```

mod attempt;
mod budget;
mod error;
mod error_kind;
mod gave_up;
mod layer;
pub mod limits;
mod origin;
mod pacer;
mod policy;
mod retry;
mod runtime;

#[cfg(feature = "decision")]
pub mod decision;
#[cfg(feature = "reqwest")]
mod reqwest_client;
#[cfg(feature = "reqwest-middleware")]
mod reqwest_middleware;

pub use attempt::{AttemptOutcome, FailedAttempt, Idempotency};
pub use budget::RetryBudget;
#[cfg(feature = "decision")]
pub use decision::DecisionClient;
pub use error::{DeadlineExceeded, RetryError};
pub use error_kind::{ClassifyError, ErrorKind, IoErrorClassifier};
pub use gave_up::{GaveUp, Reason};
pub use layer::{Retry, RetryLayer};
pub use limits::Limits;
pub use pacer::Pacer;
pub use policy::{RetryDecision, RetryPolicy};
#[cfg(feature = "reqwest")]
pub use reqwest_client::{RetryRequestBuilder, RetryingClient};
#[cfg(feature = "reqwest-middleware")]
pub use reqwest_middleware::RetryMiddleware;
pub use runtime::{Runtime, TokioRuntime};

#[cfg(all(doctest, feature = "reqwest"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "decision", feature = "json", feature = "reqwest-middleware"))]
#[doc = include_str!("../../../docs/client.md")]
struct Page;
