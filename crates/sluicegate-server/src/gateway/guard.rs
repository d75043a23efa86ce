//! The first thing a request meets: what is malformed or too large is refused before anyone asks whose it is.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response, StatusCode, request};
use http_body::{Body, Frame, SizeHint};
use sluicegate_core::policy::Maxima;
use sluicegate_tower::gateway::GrpcCall;
use tower_service::Service;

use super::download::ProxyBody;
use super::in_flight::{AddressTurn, InFlightByAddress, TooManyInFlight};
use super::problem::{self, Refusal};
use crate::listen::Peer;
use crate::shape;

/// How much a request may be.
#[derive(Clone, Copy, Debug)]
pub struct GuardSettings {
    /// The bytes of its body.
    pub body_max: u64,
    /// The number of its headers.
    pub header_count_max: usize,
    /// The bytes of its path and query.
    pub uri_max: usize,
}

impl GuardSettings {
    /// What the policy file says about it.
    pub fn new(max: &Maxima) -> Self {
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Self { body_max: max.body, header_count_max: size(max.header_count), uri_max: size(max.uri) }
    }
}

/// Lets requests pass to the service within that are well-formed and not too large.
#[derive(Clone, Debug)]
pub struct Guard<S> {
    inner: S,
    settings: GuardSettings,
    in_flight: Option<Arc<InFlightByAddress>>,
}

impl<S> Guard<S> {
    /// Stands before this service.
    pub fn new(inner: S, settings: GuardSettings) -> Self {
        Self { inner, settings, in_flight: None }
    }

    /// Counts the requests in flight of each address as well.
    #[must_use]
    pub fn counting(self, in_flight: Arc<InFlightByAddress>) -> Self {
        Self { in_flight: Some(in_flight), ..self }
    }

    /// The turn of a request; nothing: requests are not counted, or nobody knows where it comes from.
    fn turn(&self, parts: &request::Parts) -> Result<Option<AddressTurn>, TooManyInFlight> {
        match (&self.in_flight, parts.extensions.get::<Peer>()) {
            (Some(table), Some(peer)) => table.begin(peer.address().ip(), &parts.headers).map(Some),
            _ => Ok(None),
        }
    }
}

/// The answer to a request that may not pass.
fn refusal(parts: &request::Parts, settings: &GuardSettings) -> Option<Response<ProxyBody>> {
    let call = || GrpcCall::of(&parts.method, &parts.headers);
    if parts.method == Method::CONNECT {
        return Some(Refusal::Connect.answer(call()));
    }
    if parts.method == Method::TRACE {
        return Some(Refusal::Trace.answer(call()));
    }
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > settings.uri_max {
        return Some(Refusal::UriTooLong.answer(call()));
    }
    if parts.headers.len() > settings.header_count_max {
        return Some(Refusal::TooManyHeaders.answer(call()));
    }
    if let Err(malformed) = shape::check(parts) {
        let detail = malformed.to_string();
        return Some(problem::answer(StatusCode::BAD_REQUEST, "bad_request", &detail, call()));
    }
    // That it is a number was checked. One that does not fit 64 bits is too large all the more.
    let length = parts.headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    let too_large = length.parse().map_or(true, |length: u64| length > settings.body_max);
    too_large.then(|| Refusal::BodyTooLarge.answer(call()))
}

impl<S, I, B> Service<Request<I>> for Guard<S>
where
    S: Service<Request<I>, Response = Response<B>, Error = Infallible>,
{
    type Response = Response<GuardBody<B>>;
    type Error = Infallible;
    type Future = GuardFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<I>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let turn = match refusal(&parts, &self.settings) {
            Some(answer) => Err(answer),
            None => self.turn(&parts).map_err(|TooManyInFlight| {
                Refusal::TooManyInFlight.answer(GrpcCall::of(&parts.method, &parts.headers))
            }),
        };
        match turn {
            Err(answer) => GuardFuture { refused: Some(Box::new(answer)), passed: None, turn: None },
            Ok(turn) => {
                let passed = Some(self.inner.call(Request::from_parts(parts, body)));
                GuardFuture { refused: None, passed, turn }
            }
        }
    }
}

pin_project_lite::pin_project! {
    /// An answer to come: the guard's own, or that of the service within.
    pub struct GuardFuture<F> {
        refused: Option<Box<Response<ProxyBody>>>,
        #[pin]
        passed: Option<F>,
        turn: Option<AddressTurn>,
    }
}

impl<F, B> Future for GuardFuture<F>
where
    F: Future<Output = Result<Response<B>, Infallible>>,
{
    type Output = Result<Response<GuardBody<B>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(passed) = this.passed.as_pin_mut() {
            let Ok(answer) = ready!(passed.poll(cx));
            let turn = this.turn.take();
            return Poll::Ready(Ok(answer.map(|body| GuardBody { own: None, inner: Some(body), turn })));
        }
        match this.refused.take() {
            Some(answer) => {
                Poll::Ready(Ok(answer.map(|body| GuardBody { own: Some(body), inner: None, turn: None })))
            }
            // Asked again after the answer was given.
            None => Poll::Pending,
        }
    }
}

pin_project_lite::pin_project! {
    /// The body of an answer: the guard's own, or that of the service within.
    pub struct GuardBody<B> {
        own: Option<ProxyBody>,
        #[pin]
        inner: Option<B>,
        // Held until the answer has ended.
        turn: Option<AddressTurn>,
    }
}

impl<B> Body for GuardBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        match (this.inner.as_pin_mut(), this.own) {
            (Some(inner), _) => inner.poll_frame(cx).map_err(Into::into),
            (None, Some(own)) => Pin::new(own).poll_frame(cx).map_err(Into::into),
            (None, None) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match (&self.inner, &self.own) {
            (Some(inner), _) => inner.is_end_stream(),
            (None, Some(own)) => own.is_end_stream(),
            (None, None) => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.inner, &self.own) {
            (Some(inner), _) => inner.size_hint(),
            (None, Some(own)) => own.size_hint(),
            (None, None) => SizeHint::with_exact(0),
        }
    }
}
