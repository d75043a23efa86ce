//! Spans on their way to whoever collects them.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use sluicegate_core::policy::HttpUrl;
use sluicegate_engine::Engine;
use sluicegate_node::net::{Address, NotPosted, post};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::timeout;

use super::span::{Span, document};

/// Spans that wait to be sent. More are dropped.
const WAITING_MAX: usize = 8_192;
/// Spans that are sent at once.
const BATCH: usize = 512;
/// How long the first of a batch waits for the others.
const PAUSE: Duration = Duration::from_secs(1);
/// How long sending may take.
const WAIT: Duration = Duration::from_secs(10);

/// Where spans go, and which.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The collector: spans go to `/v1/traces` below it.
    pub endpoint: HttpUrl,
    /// What is sent along, such as what the collector wants to know who sends.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What this service is called there.
    pub service: String,
    /// Of requests that are not part of a caller's trace, one in so many begins one.
    pub one_in: NonZeroU64,
}

/// Begins spans, and hands them on when they have ended.
#[derive(Debug)]
pub struct Traces {
    pub(super) engine: Arc<Engine>,
    sender: Sender<Span>,
    lost: Arc<AtomicU64>,
    one_in: NonZeroU64,
    begun: AtomicU64,
}

/// Spans that are collected, until nobody begins any more.
#[derive(Debug)]
pub struct Collecting {
    settings: TraceSettings,
    receiver: Receiver<Span>,
    lost: Arc<AtomicU64>,
    troubled: bool,
}

impl Traces {
    /// Traces, and the task that sends them.
    pub fn new(engine: Arc<Engine>, settings: TraceSettings) -> (Arc<Self>, Collecting) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let lost = Arc::<AtomicU64>::default();
        let one_in = settings.one_in;
        let traces = Self { engine, sender, lost: Arc::clone(&lost), one_in, begun: AtomicU64::new(0) };
        (Arc::new(traces), Collecting { settings, receiver, lost, troubled: false })
    }

    /// Whether the next request without a trace begins one.
    pub(super) fn is_chosen(&self) -> bool {
        self.begun.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.one_in.get())
    }

    pub(super) fn hand_on(&self, span: Span) {
        if self.sender.try_send(span).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Collecting {
    /// Sends spans until nobody begins any more, and all are sent.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.receiver.recv_many(&mut batch, BATCH).await > 0 {
            let fill = async {
                while batch.len() < BATCH {
                    let Some(span) = self.receiver.recv().await else { break };
                    batch.push(span);
                }
            };
            let _ = timeout(PAUSE, fill).await;
            self.send(&batch).await;
            batch.clear();
        }
    }

    /// Sends some spans, once. Whoever collects them can do without some, and requests do not wait.
    async fn send(&mut self, batch: &[Span]) {
        let sent = match self.request(batch) {
            Some((to, request)) => match post(&to, request, WAIT).await {
                Ok(status) if status.is_success() => Ok(()),
                Ok(status) => Err(NotSent::Status(status)),
                Err(error) => Err(NotSent::Post(error)),
            },
            None => Err(NotSent::Url),
        };
        match sent {
            Ok(()) if self.troubled => {
                self.troubled = false;
                let lost = self.lost.swap(0, Ordering::Relaxed);
                tracing::info!(lost, "traces are collected again");
            }
            Ok(()) => {}
            Err(error) => {
                self.lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
                if !std::mem::replace(&mut self.troubled, true) {
                    let url = &self.settings.endpoint;
                    tracing::warn!(%url, "traces are not collected, and are dropped until they are: {error}");
                }
            }
        }
    }

    fn request(&self, batch: &[Span]) -> Option<(Address, Request<Full<Bytes>>)> {
        let uri: Uri = self.settings.endpoint.as_str().parse().ok()?;
        let path = format!("{}/v1/traces", uri.path().trim_end_matches('/'));
        let body = document(&self.settings.service, batch).to_string();
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, uri.authority()?.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("Sluicegate/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::from(body)))
            .ok()?;
        request.headers_mut().extend(self.settings.headers.iter().cloned());
        Some((Address::of(&uri)?, request))
    }
}

/// Why spans were not sent.
#[derive(Debug)]
enum NotSent {
    Url,
    Post(NotPosted),
    Status(StatusCode),
}

impl std::fmt::Display for NotSent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url => f.write_str("the endpoint is no URL that can be called"),
            Self::Post(error) => error.fmt(f),
            Self::Status(status) => write!(f, "it answered {}", status.as_u16()),
        }
    }
}
