//! A server that decides nothing: what HTTP alone costs.

use std::convert::Infallible;
use std::pin::Pin;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::Service;
use hyper::{Request, Response};

/// What a check could be answered with at the least.
pub(crate) const SMALL_JSON: &str = r#"{"allowed":true}"#;

/// What stands behind the proxies answers this.
pub(crate) const HUNDRED_BYTES: &str = concat!(
    r#"{"text":"the quick brown fox jumps over the lazy dog, and the dog "#,
    r#"does not mind at all, as is known"}"#
);

/// Reads the whole request, then answers the same text to everyone.
#[derive(Clone)]
pub(crate) struct Empty(pub(crate) &'static str);

impl Service<Request<Incoming>> for Empty {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let text = self.0;
        Box::pin(async move {
            // A body that breaks off is the load generator's to report.
            let _ = request.into_body().collect().await;
            let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(response)
        })
    }
}
