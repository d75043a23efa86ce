//! A server that decides: each check is admitted under an id that says which one it was.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::server::Server;

/// What was asked: the path, and the body.
pub(crate) type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that answers each call as `answer` says, and notes what was asked.
pub(crate) async fn start(
    answer: impl Fn(&str, &Value) -> (u16, Value) + Clone + Send + Sync + 'static,
) -> (Server, Asked) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let server = Server::start(move |request: Request<Bytes>| {
        let (answer, noted) = (answer.clone(), Arc::clone(&noted));
        async move {
            let path = request.uri().path().to_owned();
            let body: Value = serde_json::from_slice(request.body()).unwrap();
            let (status, document) = answer(&path, &body);
            noted.lock().unwrap().push((path, body));
            Response::builder().status(status).body(Full::from(document.to_string())).unwrap()
        }
    })
    .await;
    (server, asked)
}

/// Admits everything.
pub(crate) fn admit(path: &str, body: &Value) -> (u16, Value) {
    match path {
        "/v1/check/batch" => {
            let results: Vec<Value> = body["checks"].as_array().unwrap().iter().map(decision).collect();
            (200, json!({"results": results}))
        }
        _ => (200, decision(body)),
    }
}

/// The decision on a check, named after its path.
pub(crate) fn decision(check: &Value) -> Value {
    json!({
        "allowed": true, "status": 200, "error": null, "decision_id": check["path"],
        "tier": "pro", "account": "acct_pro", "retry_after_ms": 0,
        "limits": [{"name": "rate", "limit": 100, "remaining": 299, "reset_ms": 10}],
        "permit": "permit_1", "mode": "normal", "headers": {"RateLimit-Remaining": "299"},
    })
}

/// How many checks each call had.
pub(crate) fn sizes(asked: &Asked) -> Vec<usize> {
    let size = |(_, body): &(String, Value)| body["checks"].as_array().map_or(1, Vec::len);
    asked.lock().unwrap().iter().map(size).collect()
}
