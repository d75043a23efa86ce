//! Retries as a middleware of `reqwest_middleware`.

use std::future::Future;

use async_trait::async_trait;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next, Result};

use crate::budget::RetryBudget;
use crate::error::RetryError;
use crate::error_kind::ErrorKind;
use crate::pacer::Pacer;
use crate::policy::RetryPolicy;
use crate::reqwest_client::{classify, idempotency_of, next_request, origin_of};
use crate::retry::{Call, SendAttempt, Settings};
use crate::runtime::{Runtime, TokioRuntime};

/// Retries as a middleware of `reqwest_middleware`.
///
/// Middlewares that are added after it run once per attempt. A failed response that is not retried has
/// [`GaveUp`](crate::GaveUp) in its extensions. Errors of the last attempt are returned unchanged; a passed deadline
/// is [`DeadlineExceeded`](crate::DeadlineExceeded) in `reqwest_middleware::Error::Middleware`.
///
/// ```no_run
/// use reqwest_middleware::ClientBuilder;
/// use sluicegate_client::{RetryMiddleware, RetryPolicy};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let retries = RetryMiddleware::new(RetryPolicy::default()).adaptive();
/// let client = ClientBuilder::new(reqwest::Client::new()).with(retries).build();
/// println!("{}", client.get("http://127.0.0.1:8080/reports").send().await?.status());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RetryMiddleware<T = TokioRuntime> {
    settings: Settings<T>,
}

impl RetryMiddleware {
    /// Retries as this policy says.
    pub fn new(policy: RetryPolicy) -> Self {
        Self { settings: Settings::new(policy) }
    }
}

impl<T: Runtime> RetryMiddleware<T> {
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
    pub fn with_runtime<T2: Runtime>(self, runtime: T2) -> RetryMiddleware<T2> {
        RetryMiddleware { settings: self.settings.with_runtime(runtime) }
    }
}

#[async_trait]
impl<T: Runtime> Middleware for RetryMiddleware<T> {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let call = Call::new(&self.settings, idempotency_of(&request), Some(origin_of(&request)));
        let attempt = MiddlewareAttempt { next, extensions, request: Some(request) };
        call.run(attempt).await.map_err(|error| match error {
            RetryError::Failed { error, .. } | RetryError::NotSent(error) => error,
            RetryError::Deadline(error) => Error::middleware(error),
        })
    }
}

/// Sends clones of a request through the rest of the middlewares.
struct MiddlewareAttempt<'a> {
    next: Next<'a>,
    extensions: &'a mut Extensions,
    /// `None` after a request that cannot be cloned was sent.
    request: Option<Request>,
}

impl SendAttempt for MiddlewareAttempt<'_> {
    type Response = Response;
    type Error = Error;

    fn send(&mut self) -> impl Future<Output = Result<Response>> + Send {
        let request = next_request(&mut self.request);
        self.next.clone().run(request, self.extensions)
    }

    fn classify(&self, error: &Error) -> ErrorKind {
        match error {
            Error::Reqwest(error) => classify(error),
            // Another middleware failed. The request may have been sent before.
            Error::Middleware(_) => ErrorKind::ConnectionLost,
        }
    }
}
