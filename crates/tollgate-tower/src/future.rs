//! The answer to a request, while it is being made.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tollgate_engine::{Decision, Engine};
use tower_service::Service;

use crate::body::GuardedBody;
use crate::layer::{Carried, Passing, pass};
use crate::merge::merge;

/// A decision that is waited for: by a store far away, or until its record is on disk. The request waits with it.
type Deciding<B> = Pin<Box<dyn Future<Output = (Decision, Request<B>)> + Send>>;

/// An answer that is there already.
type Ready<R> = Box<Response<GuardedBody<R>>>;

pin_project! {
    /// The answer to a request, while it is being made.
    pub struct Answering<S, B, R>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        stage: Stage<S, B, R, S::Future>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S, B, R, F> {
        Deciding { deciding: Deciding<B>, engine: Arc<Engine>, service: Option<S> },
        Calling { #[pin] call: F, carried: Option<Carried> },
        Ready { response: Option<Ready<R>> },
    }
}

impl<S: Service<Request<B>>, B, R> Answering<S, B, R> {
    pub(crate) fn wait(engine: Arc<Engine>, deciding: Deciding<B>, service: S) -> Self {
        Self { stage: Stage::Deciding { deciding, engine, service: Some(service) } }
    }

    pub(crate) fn call(call: S::Future, carried: Carried) -> Self {
        Self { stage: Stage::Calling { call, carried: Some(carried) } }
    }

    pub(crate) fn ready(response: Ready<R>) -> Self {
        Self { stage: Stage::Ready { response: Some(response) } }
    }
}

impl<S, B, R> Future for Answering<S, B, R>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<GuardedBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        loop {
            let next = match stage.as_mut().project() {
                StageProjection::Deciding { deciding, engine, service } => {
                    let (decision, request) = ready!(deciding.as_mut().poll(context));
                    // Taken once: the stage is left with the line that takes it.
                    let Some(mut service) = service.take() else { return Poll::Pending };
                    match pass(engine, decision, request) {
                        Passing::Through(request, carried) => {
                            Stage::Calling { call: service.call(request), carried: Some(carried) }
                        }
                        Passing::Denied(response) => Stage::Ready { response: Some(response) },
                    }
                }
                StageProjection::Calling { call, carried } => {
                    let response = ready!(call.poll(context));
                    let mut carried = carried.take();
                    if let Some(passage) = carried.as_mut().and_then(|carried| carried.passage.take()) {
                        passage.end(response.as_ref().ok().map(Response::status));
                    }
                    return Poll::Ready(response.map(|response| answer(response, carried)));
                }
                StageProjection::Ready { response } => {
                    return match response.take() {
                        Some(response) => Poll::Ready(Ok(*response)),
                        None => Poll::Pending,
                    };
                }
            };
            stage.set(next);
        }
    }
}

/// The service's answer, with what the limits say.
fn answer<R>(mut response: Response<R>, carried: Option<Carried>) -> Response<GuardedBody<R>> {
    let mut held = None;
    if let Some(carried) = carried {
        merge(response.headers_mut(), &carried.headers);
        if let Some(held) = &carried.held {
            held.answered(response.status());
        }
        held = carried.held;
    }
    response.map(|body| GuardedBody::inner(body, held))
}
