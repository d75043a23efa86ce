//! Sends calls over HTTP connections that are kept open, each with a timeout.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::check::{Check, Finish};
use super::error::{AddressError, CallError, Cause};
use super::response::{Decision, Finished, Permit, Renewed};
use super::wire;

/// A decision is part of the latency of a request, so a longer wait is of no use.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A thousand decisions have one or two megabytes. A longer body is not a response of Sluicegate.
const RESPONSE_BYTES_MAX: usize = 32 << 20;

/// Sends calls to one decision port.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: Client<HttpConnector, Full<Bytes>>,
    check: Uri,
    batch: Uri,
    finish: Uri,
    renew: Uri,
    pub(super) timeout: Duration,
    /// What stands in `Authorization`.
    pub(super) token: Option<HeaderValue>,
}

impl Transport {
    pub(super) fn new(address: &str) -> Result<Self, AddressError> {
        let base: Uri = address.parse().map_err(|_| AddressError::Invalid)?;
        match base.scheme_str() {
            Some("http") => {}
            Some(_) => return Err(AddressError::NotHttp),
            None => return Err(AddressError::Invalid),
        }
        let address = address.trim_end_matches('/');
        let at = |path: &str| format!("{address}{path}").parse().map_err(|_| AddressError::Invalid);
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        let (check, batch, finish) = (at("/v1/check")?, at("/v1/check/batch")?, at("/v1/finish")?);
        Ok(Self { client, check, batch, finish, renew: at("/v1/renew")?, timeout: TIMEOUT, token: None })
    }

    pub(super) async fn check(&self, check: &Check) -> Result<Decision, CallError> {
        wire::read_decision(&self.post(&self.check, wire::check(check)?).await?)
    }

    /// Sends a batch with so many checks.
    pub(super) async fn check_batch(&self, body: Vec<u8>, checks: usize) -> Result<Vec<Decision>, CallError> {
        wire::read_decisions(&self.post(&self.batch, body).await?, checks)
    }

    pub(super) async fn finish(&self, finish: &Finish) -> Result<Finished, CallError> {
        wire::read_finished(&self.post(&self.finish, wire::finish(finish)?).await?)
    }

    pub(super) async fn renew(&self, permit: &Permit, hold_for: Duration) -> Result<Renewed, CallError> {
        wire::read_renewed(&self.post(&self.renew, wire::renew(permit, hold_for)?).await?)
    }

    async fn post(&self, uri: &Uri, body: Vec<u8>) -> Result<Bytes, CallError> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            request.headers_mut().insert(AUTHORIZATION, token.clone());
        }
        match tokio::time::timeout(self.timeout, self.send(request)).await {
            Ok(response) => response,
            Err(_) => Err(CallError::TimedOut(self.timeout)),
        }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes, CallError> {
        let response = self.client.request(request).await.map_err(|error| match error.is_connect() {
            true => CallError::Unreachable(Cause::new(error)),
            false => CallError::Lost(Cause::new(error)),
        })?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
        let body = body.map_err(|error| CallError::Lost(Cause::new(error)))?.to_bytes();
        match parts.status {
            StatusCode::OK => Ok(body),
            status => Err(CallError::Refused(wire::read_problem(status, &parts.headers, &body))),
        }
    }
}
