//! One call, to see that a contestant admits.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::header::{CONTENT_TYPE, TE};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::load::h2load::framed;

/// What a contestant is asked, and how its answer begins when it admits.
pub(super) struct Sample {
    pub(super) server: SocketAddr,
    pub(super) method: &'static str,
    pub(super) message: Vec<u8>,
    pub(super) admits: &'static [u8],
}

impl Sample {
    /// Asks once and wants to be admitted.
    pub(super) async fn check(&self) -> Result<()> {
        let client: Client<HttpConnector, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).http2_only(true).build(HttpConnector::new());
        let request = Request::post(format!("http://{}{}", self.server, self.method))
            .header(CONTENT_TYPE, "application/grpc")
            .header(TE, "trailers")
            .body(Full::new(framed(&self.message).into()))?;
        let answer = client.request(request).await.with_context(|| format!("cannot ask {}", self.method))?;
        let headers = answer.headers().clone();
        let body = answer.into_body().collect().await?;
        let trailers = body.trailers().cloned().unwrap_or(headers);
        let status = trailers.get("grpc-status").and_then(|status| status.to_str().ok());
        let bytes = body.to_bytes();
        ensure!(status == Some("0"), "{} ended with {trailers:?}", self.method);
        ensure!(
            bytes.get(5..).is_some_and(|message| message.starts_with(self.admits)),
            "{} refuses",
            self.method
        );
        Ok(())
    }
}
