//! Traces as a layer, for an application.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use sluicegate_core::policy::HttpUrl;
use sluicegate_engine::Engine;
use tower_layer::Layer;

use super::export::{TraceSettings, Traces};
use super::service::Traced;

/// Where spans go, and which.
#[derive(Clone, Debug)]
#[must_use]
pub struct OtlpSettings {
    collector: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    service: String,
    one_in: NonZeroU64,
}

impl OtlpSettings {
    /// Spans go to `/v1/traces` below this URL, such as `http://127.0.0.1:4318`: all of a caller's own traces, and one
    /// of every request that names none.
    pub fn new(collector: impl Into<String>) -> Self {
        let (headers, service) = (Vec::new(), "sluicegate".to_owned());
        Self { collector: collector.into(), headers, service, one_in: NonZeroU64::MIN }
    }

    /// Sent along with every batch, such as the key of the collector.
    pub fn header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.push((name, value));
        self
    }

    /// The name of this service in its spans.
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.service = name.into();
        self
    }

    /// Of requests that are not part of a caller's trace, one in so many begins one.
    pub fn one_in(mut self, requests: NonZeroU64) -> Self {
        self.one_in = requests;
        self
    }
}

/// The collector is not a URL that can be called.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpError(String);

impl fmt::Display for OtlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no URL of a collector: write it as http://127.0.0.1:4318", self.0)
    }
}

impl fmt::Debug for OtlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for OtlpError {}

/// Makes a span of every request. It goes outside of the layer that decides, so that its spans say what was decided.
#[derive(Clone, Debug)]
pub struct OtlpLayer(Arc<Traces>);

impl OtlpLayer {
    /// Begins to collect. Must be called within a tokio runtime.
    pub(crate) fn start(engine: Arc<Engine>, settings: OtlpSettings) -> Result<Self, OtlpError> {
        let OtlpSettings { collector, headers, service, one_in } = settings;
        let Ok(endpoint) = HttpUrl::parse(&collector) else { return Err(OtlpError(collector)) };
        let (traces, collecting) = Traces::new(engine, TraceSettings { endpoint, headers, service, one_in });
        // It ends when the last layer is dropped and the last span is sent.
        drop(tokio::spawn(collecting.run()));
        Ok(Self(traces))
    }
}

impl<S> Layer<S> for OtlpLayer {
    type Service = Traced<S>;

    fn layer(&self, inner: S) -> Traced<S> {
        Traced::new(inner, Some(Arc::clone(&self.0)))
    }
}
