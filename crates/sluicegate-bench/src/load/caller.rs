//! A caller of servers besides wrk: it makes accounts, and looks whether answers say what they should.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Asks one server. Clones share connections.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    server: SocketAddr,
    bearer: Option<String>,
}

impl Caller {
    pub(crate) fn new(server: SocketAddr, bearer: Option<String>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(connector), server, bearer }
    }

    /// The answer to a GET, which has to be of 2xx.
    pub(crate) async fn get(&self, path: &str) -> Result<String> {
        self.ask(Method::GET, path, String::new()).await
    }

    /// The answer to a POST, which has to be of 2xx and JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let text = self.ask(Method::POST, path, body.to_string()).await?;
        serde_json::from_str(&text).with_context(|| format!("{path} answered no JSON: {text}"))
    }

    async fn ask(&self, method: Method, path: &str, body: String) -> Result<String> {
        let uri = format!("http://{}{path}", self.server);
        let mut request =
            Request::builder().method(method).uri(&uri).header(CONTENT_TYPE, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {bearer}"));
        }
        let response = self.client.request(request.body(Full::new(body.into()))?).await;
        let response = response.with_context(|| format!("cannot ask {uri}"))?;
        let status = response.status();
        let bytes = response.into_body().collect().await.with_context(|| uri.clone())?.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        ensure!(status.is_success(), "{uri} answered {status}: {text}");
        Ok(text)
    }
}

/// A runtime for callers: they are few and in no hurry.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start a runtime")
}
