//! One request of the gateway as a span, in the JSON of OTLP.

use serde_json::{Value, json};
use sluicegate_core::time::Timestamp;

use super::context::TraceContext;
use crate::decision_slot::DecisionSummary;

/// The kind of a span that somebody else's request has begun.
const SERVER: u8 = 2;
/// The status of a span whose request failed.
const ERROR: u8 = 2;

/// A request that has ended.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) context: TraceContext,
    /// The span of the caller, if it named one.
    pub(super) parent: Option<u64>,
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) method: String,
    pub(super) path: String,
    /// Nothing where the caller went away before there was one.
    pub(super) status: Option<u16>,
    pub(super) note: Option<DecisionSummary>,
}

impl Span {
    fn json(&self) -> Value {
        let TraceContext { trace, span, .. } = self.context;
        let route = self.note.as_ref().and_then(|note| note.route.as_deref());
        let name = route.map_or_else(|| self.method.clone(), |route| format!("{} {route}", self.method));
        let mut json = json!({
            "traceId": format!("{trace:032x}"),
            "spanId": format!("{span:016x}"),
            "name": name,
            "kind": SERVER,
            "startTimeUnixNano": self.began.as_nanos().to_string(),
            "endTimeUnixNano": self.ended.as_nanos().to_string(),
            "attributes": self.attributes(),
        });
        if let Some(parent) = self.parent {
            json["parentSpanId"] = format!("{parent:016x}").into();
        }
        if self.status.is_none_or(|status| status >= 500) {
            json["status"] = json!({"code": ERROR});
        }
        json
    }

    fn attributes(&self) -> Vec<Value> {
        let note = self.note.as_ref();
        let texts = [
            ("http.request.method", Some(self.method.as_str())),
            ("url.path", Some(self.path.as_str())),
            ("http.route", note.and_then(|note| note.route.as_deref())),
            ("sluicegate.decision_id", note.map(|note| note.decision.as_str())),
            ("sluicegate.account", note.and_then(|note| note.account.as_deref())),
            ("sluicegate.tier", note.and_then(|note| note.tier.as_deref())),
            ("sluicegate.error", note.and_then(|note| note.error)),
            ("error.type", self.status.is_none().then_some("cancelled")),
        ];
        let texts = texts.into_iter().filter_map(|(key, value)| Some(text(key, value?)));
        let status = self.status.map(
            |status| json!({"key": "http.response.status_code", "value": {"intValue": status.to_string()}}),
        );
        texts.chain(status).collect()
    }
}

/// What is sent of some spans.
pub(super) fn document(service: &str, spans: &[Span]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [text("service.name", service), text("service.version", version)];
    let spans: Vec<Value> = spans.iter().map(Span::json).collect();
    let scope = json!({"name": "sluicegate", "version": version});
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]})
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}
