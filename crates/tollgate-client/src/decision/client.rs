//! The client: connections that are used again, and a deadline for every call.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::answer::{Decision, Finished};
use super::batches::Batches;
use super::check::{Check, Finish};
use super::error::{AddressError, CallError, Cause};
use super::{BATCH_MAX, wire};

/// A decision is on the way of a request: whoever waits longer has better things to do.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A thousand decisions are a megabyte or two. More is no answer of Tollgate's.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Asks Tollgate whether requests may pass. Clones share their connections, and their batches.
#[derive(Clone, Debug)]
pub struct DecisionClient {
    line: Line,
    batches: Option<Arc<Batches>>,
}

impl DecisionClient {
    /// Asks at this decision port, such as `http://127.0.0.1:8081`. It is called from within tokio's runtime.
    pub fn new(address: &str) -> Result<Self, AddressError> {
        Ok(Self { line: Line::new(address)?, batches: None })
    }

    /// Gives up on calls that take longer than this. By default 2 seconds.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.line.timeout = timeout;
        self.batches = self.batches.map(|batches| Arc::new(batches.over(self.line.clone())));
        self
    }

    /// Joins checks that are asked for at the same time: the first of them waits for `delay`, or until there are
    /// `max` (at most [`BATCH_MAX`]), and all of them are one call. Each gets its own answer. One that nobody waits
    /// for any more when the batch is sent is left out of it.
    #[must_use]
    pub fn batching(mut self, max: usize, delay: Duration) -> Self {
        let max = max.clamp(1, BATCH_MAX);
        self.batches = Some(Arc::new(Batches::new(self.line.clone(), max, delay)));
        self
    }

    /// Whether this request may pass. If it may, it is charged.
    pub async fn check(&self, check: Check) -> Result<Decision, CallError> {
        match &self.batches {
            Some(batches) => batches.check(check).await,
            None => self.line.check(&check).await,
        }
    }

    /// What would be answered. It changes nothing.
    pub async fn peek(&self, check: Check) -> Result<Decision, CallError> {
        self.check(check.peeking()).await
    }

    /// Whether these requests may pass, each on its own and in this order. If one of them is wrong nothing is
    /// charged, and the error names it.
    pub async fn check_batch(&self, checks: &[Check]) -> Result<Vec<Decision>, CallError> {
        match checks.len() {
            0 => Ok(Vec::new()),
            1..=BATCH_MAX => self.line.check_batch(wire::batch(checks.iter())?, checks.len()).await,
            too_many => Err(CallError::TooMany(too_many)),
        }
    }

    /// Says that a request has ended: what it held is free, and what it cost is settled.
    pub async fn finish(&self, finish: Finish) -> Result<Finished, CallError> {
        let answer = self.line.post(&self.line.finish, wire::finish(&finish)?).await?;
        wire::read_finished(&answer)
    }
}

/// How calls are sent.
#[derive(Clone, Debug)]
pub(super) struct Line {
    client: Client<HttpConnector, Full<Bytes>>,
    check: Uri,
    batch: Uri,
    finish: Uri,
    timeout: Duration,
}

impl Line {
    fn new(address: &str) -> Result<Self, AddressError> {
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
        Ok(Self { client, check, batch, finish, timeout: TIMEOUT })
    }

    async fn check(&self, check: &Check) -> Result<Decision, CallError> {
        wire::read_decision(&self.post(&self.check, wire::check(check)?).await?)
    }

    /// Sends a batch of so many checks.
    pub(super) async fn check_batch(&self, body: Vec<u8>, checks: usize) -> Result<Vec<Decision>, CallError> {
        wire::read_decisions(&self.post(&self.batch, body).await?, checks)
    }

    async fn post(&self, uri: &Uri, body: Vec<u8>) -> Result<Bytes, CallError> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match tokio::time::timeout(self.timeout, self.sent(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::TimedOut(self.timeout)),
        }
    }

    async fn sent(&self, request: Request<Full<Bytes>>) -> Result<Bytes, CallError> {
        let response = self.client.request(request).await.map_err(|error| match error.is_connect() {
            true => CallError::Unreachable(Cause::new(error)),
            false => CallError::Lost(Cause::new(error)),
        })?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| CallError::Lost(Cause::new(error)))?.to_bytes();
        match parts.status {
            StatusCode::OK => Ok(body),
            status => Err(CallError::Refused(wire::read_problem(status, &parts.headers, &body))),
        }
    }
}
