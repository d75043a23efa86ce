//! Around a service: every request is a span, where traces are collected.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use sluicegate_core::time::Timestamp;
use tower_service::Service;

use super::context::{Sampled, TraceContext};
use super::export::Traces;
use super::span::Span;
use crate::decision_slot::DecisionSlot;
use crate::grpc::RefusalStatus;

/// A path of more characters is cut.
const PATH_MAX: usize = 200;

/// A service whose requests are traced, if anybody collects traces.
#[derive(Clone, Debug)]
pub struct Traced<S> {
    inner: S,
    traces: Option<Arc<Traces>>,
}

impl<S> Traced<S> {
    /// Stands around this service.
    pub fn new(inner: S, traces: Option<Arc<Traces>>) -> Self {
        Self { inner, traces }
    }
}

impl<S, I, B> Service<Request<I>> for Traced<S>
where
    S: Service<Request<I>, Response = Response<B>>,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = TracedFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<I>) -> Self::Future {
        let open = self.traces.as_ref().and_then(|traces| OpenSpan::begin(traces, &mut request));
        TracedFuture { inner: self.inner.call(request), open }
    }
}

pin_project_lite::pin_project! {
    /// An answer to come, and the span that ends with it.
    pub struct TracedFuture<F> {
        #[pin]
        inner: F,
        open: Option<Box<OpenSpan>>,
    }
}

impl<F, B, E> Future for TracedFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(context));
        if let Some(mut open) = this.open.take() {
            open.status = answer.as_ref().ok().map(|answer| RefusalStatus::of(answer).as_u16());
        }
        Poll::Ready(answer)
    }
}

/// A request that goes on. Its span ends when this is dropped: with the head of the answer, or when the caller leaves.
struct OpenSpan {
    traces: Arc<Traces>,
    context: TraceContext,
    parent: Option<u64>,
    began: Timestamp,
    method: String,
    path: String,
    status: Option<u16>,
    noted: DecisionSlot,
}

impl OpenSpan {
    /// Has the upstream go on with the trace, and begins a span if somebody keeps it.
    fn begin<I>(traces: &Arc<Traces>, request: &mut Request<I>) -> Option<Box<Self>> {
        let parent = TraceContext::of(request.headers());
        let sampled = match parent {
            Some(parent) => parent.sampled,
            None if traces.is_chosen() => Sampled::Yes,
            None => Sampled::No,
        };
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let (trace, span) = random.split_at(16);
        // Zero stands for none; the chance is what the standard takes, too.
        let span = u64::from_le_bytes(span.try_into().ok()?).max(1);
        let trace = parent.map_or(u128::from_le_bytes(trace.try_into().ok()?).max(1), |parent| parent.trace);
        let context = TraceContext { trace, span, sampled };
        context.pass_on(request.headers_mut(), parent);
        if sampled == Sampled::No {
            return None;
        }
        let noted = DecisionSlot::default();
        request.extensions_mut().insert(noted.clone());
        Some(Box::new(Self {
            traces: Arc::clone(traces),
            context,
            parent: parent.map(|parent| parent.span),
            began: traces.engine.now(),
            method: request.method().as_str().to_owned(),
            path: request.uri().path().chars().take(PATH_MAX).collect(),
            status: None,
            noted,
        }))
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.traces.hand_on(Span {
            context: self.context,
            parent: self.parent,
            began: self.began,
            ended: self.traces.engine.now(),
            method: std::mem::take(&mut self.method),
            path: std::mem::take(&mut self.path),
            status: self.status,
            note: self.noted.get().cloned(),
        });
    }
}
