//! tower_governor: two rates for each account. The application looks the key up.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing::get};
use std::time::Duration;
use tokio::net::TcpListener;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::{GovernorError, GovernorLayer, key_extractor::KeyExtractor};

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Clone)]
struct Account(&'static str);

#[derive(Clone)]
struct ByAccount;

impl KeyExtractor for ByAccount {
    type Key = &'static str;

    fn extract<T>(&self, request: &Request<T>) -> Result<&'static str, GovernorError> {
        let account = request.extensions().get::<Account>();
        account.map(|account| account.0).ok_or(GovernorError::UnableToExtractKey)
    }
}

async fn authenticate(mut request: Request, next: Next) -> Response {
    let account = match request.headers().get("X-API-Key").map(HeaderValue::as_bytes) {
        Some(b"secret-of-acme") => Account("acme"),
        _ => return StatusCode::UNAUTHORIZED.into_response(),
    };
    request.extensions_mut().insert(account);
    next.run(request).await
}

async fn hello(Extension(account): Extension<Account>) -> String {
    format!("hello {}\n", account.0)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = GovernorConfigBuilder::default().key_extractor(ByAccount);
    let rate = builder.per_millisecond(100).burst_size(20).use_headers().finish().expect("not zero");
    // No calendar: one request comes back every 51.84 s, so that a first month can have up to 100,000.
    let month = builder.period(MONTH / 50_000).burst_size(50_000).finish().expect("not zero");
    println!("key secret-of-acme");

    let app = Router::new()
        .route("/", get(hello))
        .layer(GovernorLayer::new(month))
        .layer(GovernorLayer::new(rate))
        .layer(from_fn(authenticate));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
