//! The decision API: whoever stands in front of an API asks here whether a caller may pass.
//!
//! On bare hyper: an answer costs little more than the decision itself. `routes.rs` is the table of contents; every
//! endpoint is a file.

mod batch;
mod body;
mod check;
mod field;
mod finish;
mod forward_auth;
mod health;
mod json;
mod refusal;
mod reply;
mod routes;
mod sessions;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tollgate_engine::Engine;

/// An answer of the decision API.
pub type Reply = Response<Full<Bytes>>;

/// Answers the requests of the decision API. Clones share the engine.
#[derive(Clone, Debug)]
pub struct DecisionService {
    engine: Arc<Engine>,
}

impl DecisionService {
    /// The API over this engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Answers one request. The address of its peer is its extension [`crate::listen::Peer`].
    pub async fn answer<B>(self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Unpin,
    {
        routes::answer(&self.engine, request).await
    }
}

/// The answer, under way.
type Answering = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

impl<B> hyper::service::Service<Request<B>> for DecisionService
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Send,
{
    type Response = Reply;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<B>) -> Answering {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl<B> tower_service::Service<Request<B>> for DecisionService
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Send,
{
    type Response = Reply;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        hyper::service::Service::call(self, request)
    }
}
