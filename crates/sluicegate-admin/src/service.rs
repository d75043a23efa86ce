//! The admin API as the listener wants it.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use tower_service::Service;

/// The admin API over connections.
#[derive(Clone, Debug)]
pub struct AdminService(Router);

impl AdminService {
    /// Serves this router.
    pub fn new(router: Router) -> Self {
        Self(router)
    }
}

impl Service<Request<Incoming>> for AdminService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = <Router as Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.0, context)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        self.0.call(request.map(Body::new))
    }
}
