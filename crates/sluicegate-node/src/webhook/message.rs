//! An alert as a message: what is sent, and under which id.

use bytes::Bytes;
use serde::Serialize;
use sluicegate_store::alerts::News;

use super::alert_body::AlertBody;
use crate::instant;

/// A message, ready to be signed and sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    /// The same however often it is sent: receivers tell repeats by it.
    pub(super) id: String,
    pub(super) body: Bytes,
}

#[derive(Serialize)]
struct Body<'n> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: String,
    data: &'n AlertBody,
}

impl Message {
    pub(super) fn of(news: News) -> Self {
        let (kind, state) = (news.kind.as_str(), news.state().as_str());
        // A full stop divides what is signed, so none is in it.
        let id = format!("{}_{state}", news.id);
        let timestamp = instant::text(news.told_at());
        let data = AlertBody::from(news);
        let body = serde_json::to_vec(&Body { kind, timestamp, data: &data }).unwrap_or_default();
        Self { id, body: body.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluicegate_core::time::Timestamp;
    use sluicegate_store::alerts::AlertKind;

    use super::*;

    #[test]
    fn what_begins_and_what_is_over_are_two_messages_of_one_alert() {
        let at = Timestamp::from_secs(1_790_000_000);
        let kind = AlertKind::RefusalsShare { refused: 6, requests: 100 };
        let firing = News { id: "alr_1".to_owned(), at, resolved_at: None, kind };
        let over = News { resolved_at: Some(Timestamp::from_secs(1_790_000_060)), ..firing.clone() };
        let said = |news: News| {
            let Message { id, body } = Message::of(news);
            (id, serde_json::from_slice::<Value>(&body).unwrap())
        };
        let (id, body) = said(firing);
        assert_eq!((id.as_str(), &body["type"]), ("alr_1_firing", &json!("refusals.share")));
        assert_eq!(body["timestamp"], "2026-09-21T14:13:20.000Z");
        assert_eq!((&body["data"]["state"], &body["data"]["refused"]), (&json!("firing"), &json!(6)));
        let (id, body) = said(over);
        assert_eq!((id.as_str(), &body["timestamp"]), ("alr_1_resolved", &json!("2026-09-21T14:14:20.000Z")));
        assert_eq!((&body["data"]["id"], &body["data"]["state"]), (&json!("alr_1"), &json!("resolved")));
    }
}
