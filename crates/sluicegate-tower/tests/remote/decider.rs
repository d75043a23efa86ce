//! A server that decides as it is told, a service behind the layer, and what both of them saw.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request as AxumRequest;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sluicegate_tower::{DecisionClient, GuardedBody, RemoteLayer, Unreachable};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tower::{Layer as _, Service as _, ServiceExt as _};

/// Nothing in these tests takes this long unless it is stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(20);

/// What was asked: the path, and the body.
pub(crate) type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// How a call is answered: status, body, and after how long.
pub(crate) type Told = (u16, String, Duration);

/// A server that answers each call as `answer` says.
pub(crate) struct Decider {
    pub(crate) url: String,
    pub(crate) asked: Asked,
    /// Told of each call.
    called: Arc<Notify>,
}

impl Decider {
    pub(crate) async fn start(answer: impl Fn(&str, &Value) -> Told + Clone + Send + Sync + 'static) -> Self {
        let asked = Asked::default();
        let called = Arc::new(Notify::new());
        let (noted, told) = (Arc::clone(&asked), Arc::clone(&called));
        let router = Router::new().fallback(move |request: AxumRequest| {
            let (answer, noted, told) = (answer.clone(), Arc::clone(&noted), Arc::clone(&told));
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let body: Value = serde_json::from_slice(&body).unwrap();
                let (status, text, wait) = answer(&path, &body);
                noted.lock().push((path, body));
                told.notify_waiters();
                tokio::time::sleep(wait).await;
                (StatusCode::from_u16(status).unwrap(), text)
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, asked, called }
    }

    /// One that admits everything, under a permit if it is told to hold.
    pub(crate) async fn admitting() -> Self {
        Self::start(|path, body| at_once(200, &admit(path, body))).await
    }

    pub(crate) fn layer(&self) -> RemoteLayer {
        layer(&self.url, Unreachable::Deny)
    }

    /// What was asked at this path.
    pub(crate) fn asked_at(&self, path: &str) -> Vec<Value> {
        let asked = self.asked.lock();
        asked.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }

    /// The first call at this path, which may be still on its way.
    pub(crate) async fn heard(&self, path: &str) -> Value {
        self.until(|| self.asked_at(path).into_iter().next()).await
    }

    /// What `look` finds after some call or other.
    pub(crate) async fn until<T>(&self, look: impl Fn() -> Option<T>) -> T {
        let found = async {
            loop {
                let call = self.called.notified();
                if let Some(found) = look() {
                    return found;
                }
                call.await;
            }
        };
        tokio::time::timeout(STUCK, found).await.unwrap()
    }
}

pub(crate) fn layer(url: &str, unreachable: Unreachable) -> RemoteLayer {
    RemoteLayer::new(DecisionClient::new(url).unwrap(), unreachable)
}

pub(crate) fn at_once(status: u16, body: &Value) -> Told {
    (status, body.to_string(), Duration::ZERO)
}

/// Admits, and finishes.
pub(crate) fn admit(path: &str, body: &Value) -> Value {
    if path == "/v1/finish" {
        return json!({"permit": body["permit"], "reserved": 1, "settled": 1});
    }
    let permit = if body["hold"] == true { json!("permit_1") } else { Value::Null };
    json!({
        "allowed": true, "status": 200, "error": null, "decision_id": "dec_1", "tier": "pro", "account": "acme",
        "retry_after_ms": 0, "limits": [{"name": "rate", "limit": 100, "remaining": 299, "reset_ms": 10}],
        "permit": permit, "mode": "normal",
        "headers": {"RateLimit-Remaining": "299", "X-RateLimit-Remaining": "299", "X-RateLimit-Limit": "300"},
    })
}

/// A service that answers 200 with these headers, and keeps what it was sent.
#[derive(Clone, Default)]
pub(crate) struct Inner {
    pub(crate) headers: HeaderMap,
    pub(crate) status: StatusCode,
    pub(crate) seen: Arc<Mutex<Vec<Request<()>>>>,
}

impl Inner {
    /// Its answer to a request that went through the layer.
    pub(crate) async fn behind(
        &self,
        layer: &RemoteLayer,
        request: http::request::Builder,
    ) -> Response<GuardedBody<Full<Bytes>>> {
        let inner = self.clone();
        let service = tower::service_fn(move |request: Request<()>| {
            let inner = inner.clone();
            async move {
                inner.seen.lock().push(request);
                let mut response = Response::new(Full::from("body"));
                *response.headers_mut() = inner.headers;
                *response.status_mut() = inner.status;
                Ok::<_, Infallible>(response)
            }
        });
        let mut service = layer.layer(service);
        let answer = service.ready().await.unwrap().call(request.body(()).unwrap());
        tokio::time::timeout(STUCK, answer).await.unwrap().unwrap()
    }
}

pub(crate) async fn body_of<B: http_body::Body<Data = Bytes>>(response: Response<B>) -> Value
where
    B::Error: std::fmt::Debug,
{
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

pub(crate) fn header<'r, B>(response: &'r Response<B>, name: &str) -> &'r str {
    response.headers()[name].to_str().unwrap()
}
