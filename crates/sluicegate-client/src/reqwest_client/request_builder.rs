//! Builds a request of a [`RetryingClient`], as reqwest's own builder does.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, RequestBuilder, Response};
use serde::Serialize;

use super::RetryingClient;
use crate::attempt::IDEMPOTENCY_KEY;
use crate::error::RetryError;
use crate::runtime::{Runtime, TokioRuntime};

/// A request that is sent with retries. What is invalid is an error of [`send`](Self::send).
#[must_use = "a request does nothing before it is sent"]
#[derive(Debug)]
pub struct RetryRequestBuilder<T = TokioRuntime> {
    client: RetryingClient<T>,
    builder: RequestBuilder,
}

impl<T: Runtime> RetryRequestBuilder<T> {
    pub(super) fn new(client: RetryingClient<T>, builder: RequestBuilder) -> Self {
        Self { client, builder }
    }

    fn map(self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        Self { client: self.client, builder: change(self.builder) }
    }

    /// Adds a header.
    pub fn header<K, V>(self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        self.map(|builder| builder.header(name, value))
    }

    /// Sets these headers. Headers of the same name are replaced.
    pub fn headers(self, headers: HeaderMap) -> Self {
        self.map(|builder| builder.headers(headers))
    }

    /// Sets `Authorization: Bearer` with this token, such as an API key.
    pub fn bearer_auth(self, token: impl fmt::Display) -> Self {
        self.map(|builder| builder.bearer_auth(token))
    }

    /// Sets `Idempotency-Key`. A server that knows the header processes all requests with the same key once, so the
    /// request may be retried whatever its method.
    pub fn idempotency_key(self, key: impl AsRef<str>) -> Self {
        self.header(IDEMPOTENCY_KEY, key.as_ref())
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.map(|builder| builder.body(body))
    }

    /// Sets the body to this value as JSON, and `Content-Type`.
    #[cfg(feature = "json")]
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Self {
        self.map(|builder| builder.json(value))
    }

    /// Appends these pairs to the query of the URL.
    pub fn query(self, query: &(impl Serialize + ?Sized)) -> Self {
        self.map(|builder| builder.query(query))
    }

    /// Limits each attempt, until the body of its response has been read. The whole call is limited by
    /// [`RetryPolicy::with_deadline`](crate::RetryPolicy::with_deadline).
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map(|builder| builder.timeout(timeout))
    }

    /// Sends the request until it succeeds or the policy gives up.
    pub async fn send(self) -> Result<Response, RetryError<reqwest::Error>> {
        let request = self.builder.build().map_err(RetryError::NotSent)?;
        self.client.execute(request).await
    }
}
