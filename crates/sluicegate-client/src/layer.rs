//! Retries for every HTTP client that is a tower service.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::attempt::Idempotency;
use crate::budget::RetryBudget;
use crate::error::RetryError;
use crate::error_kind::{ClassifyError, ErrorKind, IoErrorClassifier};
use crate::origin::origin_of;
use crate::pacer::Pacer;
use crate::policy::RetryPolicy;
use crate::retry::{Call, SendAttempt, Settings};
use crate::runtime::{Runtime, TokioRuntime};

/// Adds retries to a tower service.
///
/// The body of a request must be `Clone`, such as `http_body_util::Full`. A failed response that is not retried has
/// [`GaveUp`](crate::GaveUp) in its extensions. How long one attempt may take is up to the inner service, unless the
/// policy has a deadline.
#[derive(Clone, Debug)]
pub struct RetryLayer<T = TokioRuntime, C = IoErrorClassifier> {
    settings: Settings<T>,
    classify: C,
}

impl RetryLayer {
    /// Retries as this policy says.
    pub fn new(policy: RetryPolicy) -> Self {
        Self { settings: Settings::new(policy), classify: IoErrorClassifier }
    }
}

impl<T, C> RetryLayer<T, C> {
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
    pub fn with_runtime<T2: Runtime>(self, runtime: T2) -> RetryLayer<T2, C> {
        RetryLayer { settings: self.settings.with_runtime(runtime), classify: self.classify }
    }

    /// Uses this classifier for the errors of the service.
    #[must_use]
    pub fn with_error_classifier<C2>(self, classify: C2) -> RetryLayer<T, C2> {
        RetryLayer { settings: self.settings, classify }
    }
}

impl<S, T: Clone, C: Clone> Layer<S> for RetryLayer<T, C> {
    type Service = Retry<S, T, C>;

    fn layer(&self, inner: S) -> Retry<S, T, C> {
        Retry { inner, layer: self.clone() }
    }
}

/// A service with retries.
#[derive(Clone, Debug)]
pub struct Retry<S, T = TokioRuntime, C = IoErrorClassifier> {
    inner: S,
    layer: RetryLayer<T, C>,
}

impl<S, B, R, T, C> Service<Request<B>> for Retry<S, T, C>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Clone + Send + 'static,
    R: Send + 'static,
    T: Runtime,
    C: ClassifyError<S::Error>,
{
    type Response = Response<R>;
    type Error = RetryError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(RetryError::NotSent)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Only `self.inner` was polled ready; its clone was not.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let RetryLayer { settings, classify } = self.layer.clone();
        Box::pin(async move {
            let idempotency = Idempotency::of(request.method(), request.headers());
            let origin = origin_of(request.uri(), request.headers());
            let call = Call::new(&settings, idempotency, origin);
            call.run(ServiceAttempt { service, request, classify }).await
        })
    }
}

/// Sends clones of a request to a service.
struct ServiceAttempt<S, B, C> {
    service: S,
    request: Request<B>,
    classify: C,
}

impl<S, B, R, C> SendAttempt for ServiceAttempt<S, B, C>
where
    S: Service<Request<B>, Response = Response<R>> + Send,
    S::Future: Send,
    S::Error: Send,
    B: Clone + Send,
    R: Send,
    C: ClassifyError<S::Error>,
{
    type Response = Response<R>;
    type Error = S::Error;

    fn ready(&mut self) -> impl Future<Output = Result<(), S::Error>> + Send {
        poll_fn(|context| self.service.poll_ready(context))
    }

    fn send(&mut self) -> impl Future<Output = Result<Response<R>, S::Error>> + Send {
        self.service.call(self.request.clone())
    }

    fn classify(&self, error: &S::Error) -> ErrorKind {
        self.classify.classify(error)
    }
}
