//! For those who call an API behind Tollgate, or any API that says what its limits are.
//!
//! - [`RetryLayer`] wraps an HTTP client that is a tower service. It waits 100 ms after the first failure and twice
//!   as long after each further one, ±10 %, at most 30 s, and gives up after the fifth. It never waits less than the
//!   server says, and never repeats what repeating does not mend, such as a spent quota (402), or what must not be
//!   done twice. With the feature `reqwest` the same goes for [`reqwest`](https://docs.rs/reqwest): `RetryingClient`.
//! - [`RetryPolicy`] is that strategy by itself: a function of what happened and of a random number.
//! - [`Limits`] is what an answer says of its limits, in all families of headers.
//! - `DecisionClient` (feature `decision`, on by default) asks Tollgate whether a request may pass.
//!
//! # Retries
//!
//! ```
//! use http_body_util::Full;
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//! use tollgate_client::{GaveUp, RetryLayer, RetryPolicy};
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
//! #         let (mut stream, _) = listener.accept().expect("somebody calls");
//! #         let _ = stream.read(&mut [0; 4_096]);
//! #         let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
//! #     }
//! # });
//! let client = Client::builder(TokioExecutor::new()).build_http();
//! let mut client = RetryLayer::new(RetryPolicy::default()).layer(client);
//! let request = http::Request::get(&url).body(Full::<bytes::Bytes>::default())?;
//! // This server says 429 to the first try and 502 to the second.
//! let response = client.call(request).await?;
//! assert_eq!(response.status(), 200);
//! // After a failure that was not mended, the answer says why it was not tried again.
//! assert!(response.extensions().get::<GaveUp>().is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # Decisions
//!
//! ```
//! use std::time::Duration;
//! use tollgate_client::decision::{Caller, Check, DecisionClient};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // Checks that are asked for within a millisecond travel together.
//! let client = DecisionClient::new("http://127.0.0.1:8081")?.batching(100, Duration::from_millis(1));
//! let decision = client.check(Check::of(Caller::key("tg_live_…")).path("/reports")).await?;
//! if !decision.allowed {
//!     println!("answer {} and try again in {:?}", decision.status, decision.retry_after());
//! }
//! # Ok(())
//! # }
//! ```

mod facts;
mod layer;
pub mod limits;
mod policy;
mod runtime;
mod trouble;

#[cfg(feature = "decision")]
pub mod decision;
#[cfg(feature = "reqwest")]
mod with_reqwest;

#[cfg(feature = "decision")]
pub use decision::DecisionClient;
pub use facts::{Facts, Outcome, Repeatable};
pub use layer::{Retry, RetryLayer};
pub use limits::Limits;
pub use policy::{GaveUp, Next, Reason, RetryPolicy};
pub use runtime::{Runtime, TokioRuntime};
pub use trouble::{Classify, ConnectErrors, Trouble};
#[cfg(feature = "reqwest")]
pub use with_reqwest::RetryingClient;
