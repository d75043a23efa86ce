//! Retries around any HTTP client that is a tower service.

use std::future::{Future, poll_fn};
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use crate::facts::{Facts, Repeatable};
use crate::policy::{GaveUp, Next, RetryPolicy};
use crate::runtime::{Runtime, TokioRuntime};
use crate::trouble::{Classify, ConnectErrors, Trouble};

/// Puts retries around a service.
///
/// The body of a request has to be one that can be cloned, such as `http_body_util::Full`. An answer that is a
/// failure and not tried again has the reason in its extensions: [`GaveUp`]. How long one try may take is up to the
/// service within.
#[derive(Clone, Copy, Debug)]
pub struct RetryLayer<T = TokioRuntime, C = ConnectErrors> {
    policy: RetryPolicy,
    runtime: T,
    classify: C,
}

impl RetryLayer {
    /// Tries again as this policy says.
    pub fn new(policy: RetryPolicy) -> Self {
        Self { policy, runtime: TokioRuntime, classify: ConnectErrors }
    }
}

impl<T, C> RetryLayer<T, C> {
    /// Takes the time, sleep and random numbers from here.
    #[must_use]
    pub fn with_runtime<T2: Runtime>(self, runtime: T2) -> RetryLayer<T2, C> {
        RetryLayer { policy: self.policy, runtime, classify: self.classify }
    }

    /// Has this tell what the errors of the service mean.
    #[must_use]
    pub fn with_errors<C2>(self, classify: C2) -> RetryLayer<T, C2> {
        RetryLayer { policy: self.policy, runtime: self.runtime, classify }
    }
}

impl<S, T: Clone, C: Clone> Layer<S> for RetryLayer<T, C> {
    type Service = Retry<S, T, C>;

    fn layer(&self, inner: S) -> Retry<S, T, C> {
        Retry { inner, layer: self.clone() }
    }
}

/// A service that is tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry<S, T = TokioRuntime, C = ConnectErrors> {
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
    C: Classify<S::Error>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready; a clone is not ready just because this one is.
        let clone = self.inner.clone();
        let mut service = std::mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        Box::pin(async move {
            let mut course = Course::new(layer.policy, Repeatable::of(request.method(), request.headers()));
            loop {
                let answer = service.call(request.clone()).await;
                match course.after(answer, &layer.runtime, &layer.classify) {
                    Step::Wait(wait) => layer.runtime.sleep(wait).await,
                    Step::Done(answer) => return answer,
                }
                poll_fn(|context| service.poll_ready(context)).await?;
            }
        })
    }
}

/// One request, however often it is tried.
pub(crate) struct Course {
    policy: RetryPolicy,
    repeatable: Repeatable,
    tries: NonZeroU32,
}

/// What comes after a try.
enum Step<A> {
    Wait(std::time::Duration),
    Done(A),
}

impl Course {
    pub(crate) fn new(policy: RetryPolicy, repeatable: Repeatable) -> Self {
        Self { policy, repeatable, tries: NonZeroU32::MIN }
    }

    fn after<R, E>(
        &mut self,
        answer: Result<Response<R>, E>,
        runtime: &impl Runtime,
        classify: &impl Classify<E>,
    ) -> Step<Result<Response<R>, E>> {
        let next = match &answer {
            Ok(response) => self.answered(response.status(), response.headers(), runtime),
            Err(error) => Some(self.failed(classify.classify(error), runtime)),
        };
        match (next, answer) {
            (Some(Next::Wait(wait)), _) => Step::Wait(wait),
            (Some(Next::GiveUp(reason)), Ok(mut response)) => {
                response.extensions_mut().insert(GaveUp { reason, tries: self.tries });
                Step::Done(Ok(response))
            }
            (_, answer) => Step::Done(answer),
        }
    }

    /// What to do after this answer; nothing if it is a success.
    pub(crate) fn answered(
        &mut self,
        status: StatusCode,
        headers: &http::HeaderMap,
        runtime: &impl Runtime,
    ) -> Option<Next> {
        let is_failure = status.is_client_error() || status.is_server_error();
        is_failure
            .then(|| self.next(&Facts::answered(self.repeatable, status, headers, runtime.now()), runtime))
    }

    /// What to do after this error.
    pub(crate) fn failed(&mut self, trouble: Trouble, runtime: &impl Runtime) -> Next {
        let facts = match trouble {
            Trouble::Unreachable => Facts::unreachable(self.repeatable, runtime.now()),
            Trouble::Broken => Facts::broken(self.repeatable, runtime.now()),
        };
        self.next(&facts, runtime)
    }

    /// How often it was tried.
    #[cfg(feature = "reqwest")]
    pub(crate) fn tries(&self) -> NonZeroU32 {
        self.tries
    }

    fn next(&mut self, facts: &Facts, runtime: &impl Runtime) -> Next {
        let next = self.policy.decide(self.tries, facts, runtime.random());
        if matches!(next, Next::Wait(_)) {
            self.tries = self.tries.saturating_add(1);
        }
        next
    }
}
