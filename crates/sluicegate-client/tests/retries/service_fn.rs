//! A service that is a function.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

pub(crate) type BoxFuture<R> = Pin<Box<dyn Future<Output = io::Result<Response<R>>> + Send>>;

/// A service that is a function.
#[derive(Clone)]
pub(crate) struct ServiceFn<F>(pub(crate) F);

impl<F: Fn(Request<()>) -> BoxFuture<()>> Service<Request<()>> for ServiceFn<F> {
    type Response = Response<()>;
    type Error = io::Error;
    type Future = BoxFuture<()>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        (self.0)(request)
    }
}
