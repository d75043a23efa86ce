//! The answer to a request, while it is being made.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::body::GuardedBody;
use crate::grpc::{Protocol, RefusalStatus, UploadFault};
use crate::merge::merge;
use crate::passing::{Carried, Passing};

/// A decision that is waited for: by a Sluicegate or a store far away, or until its record is on disk. The request
/// waits with it.
type Deciding<B, R> = Pin<Box<dyn Future<Output = Passing<B, R>> + Send>>;

/// An answer that is there already.
type Ready<R> = Box<Response<GuardedBody<R>>>;

pin_project! {
    /// The answer to a request, while it is being made.
    pub struct ResponseFuture<S, B, R>
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
        Deciding { deciding: Deciding<B, R>, service: Option<S> },
        Calling { #[pin] call: F, carried: Option<Carried> },
        Ready { response: Option<Ready<R>> },
    }
}

impl<S: Service<Request<B>>, B, R> ResponseFuture<S, B, R> {
    pub(crate) fn wait(deciding: Deciding<B, R>, service: S) -> Self {
        Self { stage: Stage::Deciding { deciding, service: Some(service) } }
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn call(call: S::Future, carried: Carried) -> Self {
        Self { stage: Stage::Calling { call, carried: Some(carried) } }
    }

    pub(crate) fn ready(response: Ready<R>) -> Self {
        Self { stage: Stage::Ready { response: Some(response) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, R>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<GuardedBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        loop {
            let next = match stage.as_mut().project() {
                StageProjection::Deciding { deciding, service } => {
                    let passing = ready!(deciding.as_mut().poll(context));
                    // Taken once: the stage is left with the line that takes it.
                    let Some(mut service) = service.take() else { return Poll::Pending };
                    match passing {
                        Passing::Through(request, carried) => {
                            Stage::Calling { call: service.call(request), carried: Some(carried) }
                        }
                        Passing::Denied(response) => Stage::Ready { response: Some(response) },
                    }
                }
                StageProjection::Calling { call, carried } => {
                    let response = ready!(call.poll(context));
                    let mut carried = carried.take();
                    end_passage(carried.as_mut(), response.as_ref().ok());
                    return Poll::Ready(match response {
                        Ok(response) => Ok(answer(response, carried)),
                        Err(error) => {
                            no_answer(carried);
                            Err(error)
                        }
                    });
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

/// The service has answered, or has failed: its place there is free.
#[cfg(feature = "embedded")]
fn end_passage<R>(carried: Option<&mut Carried>, response: Option<&Response<R>>) {
    if let Some(passage) = carried.and_then(|carried| carried.passage.take()) {
        passage.end(response.map(RefusalStatus::of));
    }
}

#[cfg(not(feature = "embedded"))]
fn end_passage<R>(_: Option<&mut Carried>, _: Option<&Response<R>>) {}

/// The service has failed while the caller waits: that counts as a 5xx, so that quota is given back where the plan says
/// so, and a repeat is free where nothing else was delivered.
fn no_answer(carried: Option<Carried>) {
    if let Some(held) = carried.and_then(|carried| carried.held) {
        held.answered(StatusCode::BAD_GATEWAY);
    }
}

/// The service's answer, with what the limits say.
fn answer<R>(mut response: Response<R>, carried: Option<Carried>) -> Response<GuardedBody<R>> {
    let mut held = None;
    let protocol = carried.as_ref().map_or(Protocol::Http, |carried| carried.protocol);
    if let Some(carried) = carried {
        if let Some(said) = &carried.said {
            merge(response.headers_mut(), said);
        }
        if let Some(held) = &carried.held {
            held.answered(RefusalStatus::to_finish(&response, protocol));
        }
        #[cfg(feature = "remote")]
        if let Some(undecided) = carried.undecided {
            response.extensions_mut().insert(undecided);
        }
        held = carried.held;
    }
    let fault = response.extensions_mut().remove::<UploadFault>();
    response.map(|body| GuardedBody::inner(body, held, protocol, fault))
}
