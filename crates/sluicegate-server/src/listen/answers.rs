//! Whoever answers the requests of a listener.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tower_service::Service;

use sluicegate_node::peer::Peer;

/// Answers requests. Clones answer alike.
pub trait Answers: Clone + Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Answers one request of this peer. The future has a type of its own: nothing is boxed for a request.
    fn answer(
        self,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// Every service does. It finds the peer among the extensions of the request.
impl<S, B> Answers for S
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Body = B;

    async fn answer(mut self, mut request: Request<Incoming>, peer: Peer) -> Response<B> {
        request.extensions_mut().insert(peer);
        let Ok(()) = poll_fn(|cx| self.poll_ready(cx)).await;
        let Ok(answer) = self.call(request).await;
        answer
    }
}
