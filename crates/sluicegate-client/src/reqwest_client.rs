//! A reqwest client with retries.

mod request_builder;

use std::future::Future;

use http::{Extensions, HeaderMap, Method, StatusCode};
use reqwest::{Client, IntoUrl, Request, Response};

pub use request_builder::RetryRequestBuilder;

use crate::attempt::Idempotency;
use crate::budget::RetryBudget;
use crate::error::RetryError;
use crate::error_kind::ErrorKind;
use crate::pacer::Pacer;
use crate::policy::RetryPolicy;
use crate::retry::{AttemptResponse, Call, SendAttempt, Settings};
use crate::runtime::{Runtime, TokioRuntime};

/// A reqwest client with retries.
///
/// A failed response that is not retried has [`GaveUp`](crate::GaveUp) in its extensions. A body that is a stream
/// can be sent only once, so such a request is not retried. Clones share their connections, their budget and their
/// pacer.
///
/// ```no_run
/// use std::time::Duration;
/// use sluicegate_client::{RetryPolicy, RetryingClient};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = RetryPolicy::default().with_deadline(Duration::from_secs(10));
/// let client = RetryingClient::new(reqwest::Client::new(), policy).adaptive();
/// let response = client.get("http://127.0.0.1:8080/reports").bearer_auth("sg_live_…").send().await?;
/// println!("{}", response.status());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RetryingClient<T = TokioRuntime> {
    client: Client,
    settings: Settings<T>,
}

impl Default for RetryingClient {
    /// reqwest's default client with the default policy.
    fn default() -> Self {
        Self::new(Client::new(), RetryPolicy::default())
    }
}

impl RetryingClient {
    /// Retries as this policy says. How long one attempt may take is up to the client, unless the policy has a
    /// deadline.
    pub fn new(client: Client, policy: RetryPolicy) -> Self {
        Self { client, settings: Settings::new(policy) }
    }
}

impl<T: Runtime> RetryingClient<T> {
    /// Limits retries to this budget.
    #[must_use]
    pub fn with_budget(mut self, budget: RetryBudget) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// Learns the rate limits of each origin and delays requests so that they are not refused.
    #[must_use]
    pub fn adaptive(self) -> Self {
        self.with_pacer(Pacer::new())
    }

    /// The same as [`adaptive`](Self::adaptive), with a pacer that is shared with other clients.
    #[must_use]
    pub fn with_pacer(mut self, pacer: Pacer) -> Self {
        self.settings.pacer = Some(pacer);
        self
    }

    /// Uses these clocks, timers and random numbers.
    #[must_use]
    pub fn with_runtime<T2: Runtime>(self, runtime: T2) -> RetryingClient<T2> {
        RetryingClient { client: self.client, settings: self.settings.with_runtime(runtime) }
    }

    /// The reqwest client, without retries.
    pub fn inner(&self) -> &Client {
        &self.client
    }

    /// Starts a GET request.
    pub fn get(&self, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        self.request(Method::GET, url)
    }

    /// Starts a POST request. It is retried only with an [idempotency key](RetryRequestBuilder::idempotency_key).
    pub fn post(&self, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        self.request(Method::POST, url)
    }

    /// Starts a PUT request.
    pub fn put(&self, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        self.request(Method::PUT, url)
    }

    /// Starts a PATCH request. It is retried only with an [idempotency key](RetryRequestBuilder::idempotency_key).
    pub fn patch(&self, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        self.request(Method::PATCH, url)
    }

    /// Starts a DELETE request.
    pub fn delete(&self, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        self.request(Method::DELETE, url)
    }

    /// Starts a HEAD request.
    pub fn head(&self, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        self.request(Method::HEAD, url)
    }

    /// Starts a request with this method. An invalid URL is an error of
    /// [`send`](RetryRequestBuilder::send).
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RetryRequestBuilder<T> {
        RetryRequestBuilder::new(self.clone(), self.client.request(method, url))
    }

    /// Sends a request until it succeeds or the policy gives up.
    pub async fn execute(&self, request: Request) -> Result<Response, RetryError<reqwest::Error>> {
        let call = Call::new(&self.settings, idempotency_of(&request), Some(origin_of(&request)));
        call.run(ClientAttempt { client: &self.client, request: Some(request) }).await
    }
}

/// Sends clones of a request with a reqwest client.
struct ClientAttempt<'c> {
    client: &'c Client,
    /// `None` after a request that cannot be cloned was sent.
    request: Option<Request>,
}

impl SendAttempt for ClientAttempt<'_> {
    type Response = Response;
    type Error = reqwest::Error;

    fn send(&mut self) -> impl Future<Output = Result<Response, reqwest::Error>> + Send {
        let request = next_request(&mut self.request);
        self.client.execute(request)
    }

    fn classify(&self, error: &reqwest::Error) -> ErrorKind {
        classify(error)
    }
}

/// A clone of the request, or the request itself if it cannot be cloned: it is sent only once then.
pub(crate) fn next_request(request: &mut Option<Request>) -> Request {
    let clone = request.as_ref().and_then(Request::try_clone);
    clone
        .or_else(|| request.take())
        .expect("a request that cannot be cloned is not idempotent: it is sent once")
}

/// A request whose body is a stream cannot be sent twice, whatever its method.
pub(crate) fn idempotency_of(request: &Request) -> Idempotency {
    match request.body().map(|body| body.as_bytes().is_some()) {
        Some(false) => Idempotency::NotIdempotent,
        _ => Idempotency::of(request.method(), request.headers()),
    }
}

pub(crate) fn origin_of(request: &Request) -> String {
    request.url().origin().ascii_serialization()
}

pub(crate) fn classify(error: &reqwest::Error) -> ErrorKind {
    if error.is_connect() { ErrorKind::Connect } else { ErrorKind::ConnectionLost }
}

impl AttemptResponse for Response {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions_mut()
    }
}
