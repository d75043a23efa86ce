//! The upstream of a gateway that has none: it answers with what it was sent.

use std::future::poll_fn;
use std::pin::Pin;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::download::ProxyBody;
use super::forward::ForwardSettings;
use super::problem::Refusal;

/// Parts of names of headers whose values are secrets.
const SECRET_NAMES: [&str; 7] = ["auth", "key", "token", "secret", "cookie", "password", "session"];

/// What stands in place of a secret.
const REDACTED: &str = "(redacted)";

/// Answers with the method, path, query and headers of the request, and with the length of its body.
pub(super) async fn answer(
    request: Request<Incoming>,
    settings: &ForwardSettings,
) -> Result<Response<ProxyBody>, Refusal> {
    let (parts, body) = request.into_parts();
    let length = length(body, settings).await?;
    let document = json!({
        "method": parts.method.as_str(),
        "path": parts.uri.path(),
        "query": parts.uri.query(),
        "headers": shown(&parts.headers),
        "body_length": length,
    });
    let mut answer = Response::new(ProxyBody::whole(format!("{document}\n")));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

/// Reads the body to its end and forgets it.
async fn length(mut body: Incoming, settings: &ForwardSettings) -> Result<u64, Refusal> {
    let mut length: u64 = 0;
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let Ok(frame) = timeout(settings.idle, frame).await else {
            return Err(Refusal::RequestTimeout);
        };
        // A caller that went away hears no answer, whatever it is.
        let Some(Ok(frame)) = frame else {
            return Ok(length);
        };
        let more = frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
        length = length.saturating_add(more);
        if length > settings.body_max {
            return Err(Refusal::BodyTooLarge);
        }
    }
}

fn shown(headers: &HeaderMap) -> Map<String, Value> {
    let mut shown = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let text = if SECRET_NAMES.iter().any(|part| name.as_str().contains(part)) {
            REDACTED.to_owned()
        } else {
            values.collect::<Vec<_>>().join(", ")
        };
        shown.insert(name.as_str().to_owned(), text.into());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_repeated() {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "x-api-key", "x-service-token", "cookie", "proxy-authorization"] {
            headers.insert(name, HeaderValue::from_static("sg_live_abc"));
        }
        headers.insert("accept", HeaderValue::from_static("*/*"));
        let shown = shown(&headers);
        assert_eq!(shown.len(), 6);
        assert_eq!(shown["accept"], "*/*");
        assert!(shown.iter().all(|(name, value)| name == "accept" || value == REDACTED), "{shown:?}");
    }
}
