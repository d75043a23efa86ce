//! A proxy without limits: hyper in front, hyper's pooled client behind, nothing between.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Empty, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::http::uri::{Authority, Parts, PathAndQuery, Scheme};
use hyper::service::Service;
use hyper::{Error, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Sends every request on.
#[derive(Clone)]
pub(crate) struct Proxy {
    client: Client<HttpConnector, Incoming>,
    upstream: Authority,
}

impl Proxy {
    pub(crate) fn new(upstream: SocketAddr) -> anyhow::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let upstream = upstream.to_string().parse().context("an address is an authority")?;
        Ok(Self { client, upstream })
    }

    fn steer(&self, uri: &Uri) -> Uri {
        let mut parts = Parts::default();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.upstream.clone());
        let path = uri.path_and_query().cloned();
        parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        Uri::from_parts(parts).unwrap_or_default()
    }
}

impl Service<Request<Incoming>> for Proxy {
    type Response = Response<BoxBody<Bytes, Error>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        *request.uri_mut() = self.steer(request.uri());
        let answer = self.client.request(request);
        Box::pin(async move {
            Ok(match answer.await {
                Ok(response) => response.map(BoxBody::new),
                Err(_) => bad_gateway(),
            })
        })
    }
}

fn bad_gateway() -> Response<BoxBody<Bytes, Error>> {
    let mut response = Response::new(BoxBody::new(Empty::new().map_err(|never| match never {})));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
