//! Traces, if somebody collects them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::{HeaderName, HeaderValue};
use sluicegate_engine::Engine;
use sluicegate_tower::otlp::{TraceSettings, Traces};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cli::Serve;

/// How long the end waits for the last spans to be sent.
const SENDING: Duration = Duration::from_secs(2);

/// Traces that are being collected, or not.
pub(super) struct Tracing {
    pub(super) traces: Option<Arc<Traces>>,
    collecting: Option<JoinHandle<()>>,
}

impl Tracing {
    pub(super) fn start(args: &Serve, engine: &Arc<Engine>) -> anyhow::Result<Self> {
        let Some(endpoint) = args.otlp_endpoint.clone() else {
            return Ok(Self { traces: None, collecting: None });
        };
        let headers = headers(args.otlp_headers.as_deref().unwrap_or_default())
            .context("OTEL_EXPORTER_OTLP_HEADERS cannot be used")?;
        let (service, one_in) = (args.otlp_service.clone(), args.trace_one_in);
        let settings = TraceSettings { endpoint, headers, service, one_in };
        let (traces, collecting) = Traces::new(Arc::clone(engine), settings);
        Ok(Self { traces: Some(traces), collecting: Some(tokio::spawn(collecting.run())) })
    }

    /// Sends what is left. Nobody may begin spans any more.
    pub(super) async fn end(self) {
        drop(self.traces);
        if let Some(collecting) = self.collecting {
            let _ = timeout(SENDING, collecting).await;
        }
    }
}

/// `name=value,name=value`. What is wrong with it is said without saying it: it may be a secret.
fn headers(text: &str) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let Some((name, value)) = pair.split_once('=') else {
                bail!("expected name=value, with commas in between");
            };
            let name: HeaderName = name.trim().parse().context("a name is no name of a header")?;
            let mut value: HeaderValue =
                value.trim().parse().context("a value has characters that none may have")?;
            value.set_sensitive(true);
            Ok((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::headers;

    #[test]
    fn headers_are_pairs_and_complaints_do_not_repeat_them() {
        let read = headers(" authorization=Bearer secret , x-team=a=b,").unwrap();
        let read: Vec<_> =
            read.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(read, [("authorization", "Bearer secret"), ("x-team", "a=b")]);
        for wrong in ["secret", "a b=secret", "a=sec\nret"] {
            let error = format!("{:#}", headers(wrong).unwrap_err());
            assert!(!error.contains("sec"), "{error}");
        }
        assert!(headers("").unwrap().is_empty());
    }
}
