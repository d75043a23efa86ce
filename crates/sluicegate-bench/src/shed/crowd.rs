//! Callers that send at their own pace, whatever they are answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::header::{AUTHORIZATION, RETRY_AFTER};
use hyper::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinSet;

use crate::timing::stopwatch;

/// How often those send that are due.
const TICK: Duration = Duration::from_millis(2);
/// As many as the upstream can always work on.
const BUSY: usize = 64;

type HttpClient = Client<HttpConnector, Empty<Bytes>>;

/// What was seen of one tier.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) shed: usize,
    /// What those that were served took, in milliseconds.
    pub(crate) took_ms: Vec<f64>,
}

/// Callers of several tiers.
pub(super) struct Crowd {
    client: HttpClient,
    gateway: SocketAddr,
    tiers: Vec<Arc<[String]>>,
}

fn client() -> HttpClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// How many requests a second a server does if it is never idle.
pub(super) async fn capacity(server: SocketAddr, time: Duration) -> Result<f64> {
    let client = client();
    let watch = stopwatch();
    let mut callers = JoinSet::new();
    for _ in 0..BUSY {
        let client = client.clone();
        callers.spawn(async move {
            let watch = stopwatch();
            let mut count = 0_u32;
            while watch.elapsed() < time {
                ask(&client, server, None).await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(counted) = callers.join_next().await {
        count += counted??;
    }
    Ok(f64::from(count) / watch.elapsed().as_secs_f64())
}

/// Whether a request was served.
enum Served {
    Yes,
    Shed,
}

async fn ask(client: &HttpClient, server: SocketAddr, key: Option<&str>) -> Result<Served> {
    let mut request = Request::get(format!("http://{server}/"));
    if let Some(key) = key {
        request = request.header(AUTHORIZATION, format!("Bearer {key}"));
    }
    let response = client.request(request.body(Empty::new())?).await.context("no answer")?;
    let (status, told) = (response.status(), response.headers().contains_key(RETRY_AFTER));
    response.into_body().collect().await.context("half an answer")?;
    match status {
        StatusCode::OK => Ok(Served::Yes),
        StatusCode::SERVICE_UNAVAILABLE => {
            ensure!(told, "503 without Retry-After");
            Ok(Served::Shed)
        }
        other => bail!("answered {other}"),
    }
}

impl Crowd {
    pub(super) fn new(gateway: SocketAddr) -> Self {
        Self { client: client(), gateway, tiers: Vec::new() }
    }

    /// Those of one more tier, by their keys.
    pub(super) fn join(&mut self, keys: Vec<String>) {
        self.tiers.push(keys.into());
    }

    /// Sends so many requests a second in each tier for a while, and waits for all answers.
    pub(super) async fn send(&self, per_s: &[f64], time: Duration) -> Result<Vec<Seen>> {
        let mut seen: Vec<Seen> = self.tiers.iter().map(|_| Seen::default()).collect();
        let mut sent = vec![0_usize; self.tiers.len()];
        let mut answers = JoinSet::new();
        let watch = stopwatch();
        while watch.elapsed() < time {
            let elapsed = watch.elapsed().as_secs_f64();
            for (tier, keys) in self.tiers.iter().enumerate() {
                while (sent[tier] as f64) < per_s[tier] * elapsed {
                    let (client, keys, turn) = (self.client.clone(), Arc::clone(keys), sent[tier]);
                    let gateway = self.gateway;
                    answers.spawn(async move {
                        let watch = stopwatch();
                        let served = ask(&client, gateway, Some(&keys[turn % keys.len()])).await?;
                        anyhow::Ok((tier, served, watch.elapsed()))
                    });
                    sent[tier] += 1;
                }
            }
            while let Some(answer) = answers.try_join_next() {
                note(&mut seen, answer??);
            }
            tokio::time::sleep(TICK).await;
        }
        while let Some(answer) = answers.join_next().await {
            note(&mut seen, answer??);
        }
        Ok(seen)
    }
}

fn note(seen: &mut [Seen], (tier, served, took): (usize, Served, Duration)) {
    match served {
        Served::Yes => seen[tier].took_ms.push(took.as_secs_f64() * 1e3),
        Served::Shed => seen[tier].shed += 1,
    }
}
