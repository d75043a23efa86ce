//! limitador: two fixed windows for each account. The application looks the key up and writes the middleware.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing::get};
use limitador::{RateLimiter, errors::LimitadorError, limit::Limit};
use std::{collections::HashMap, sync::Arc};
use tokio::net::TcpListener;

const MONTH_SECONDS: u64 = 30 * 24 * 60 * 60;
const ACCOUNTS_MAX: u64 = 10_000;

type Headers = HashMap<String, String>;

#[derive(Clone)]
struct Account(&'static str);

fn check(limiter: &RateLimiter, account: &Account) -> Result<(bool, Headers), LimitadorError> {
    let values = HashMap::from([("account".to_owned(), account.0.to_owned())]);
    let mut result = limiter.check_rate_limited_and_update(&"api".into(), &values.into(), 1)?;
    Ok((result.limited, result.response_header()))
}

async fn limit(State(limiter): State<Arc<RateLimiter>>, mut request: Request, next: Next) -> Response {
    let account = match request.headers().get("X-API-Key").map(HeaderValue::as_bytes) {
        Some(b"secret-of-acme") => Account("acme"),
        _ => return StatusCode::UNAUTHORIZED.into_response(),
    };
    let Ok((is_limited, headers)) = check(&limiter, &account) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = if is_limited {
        StatusCode::TOO_MANY_REQUESTS.into_response()
    } else {
        request.extensions_mut().insert(account);
        next.run(request).await
    };
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn hello(Extension(account): Extension<Account>) -> String {
    format!("hello {}\n", account.0)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = RateLimiter::new(ACCOUNTS_MAX);
    // Windows are fixed, and begin with the first request in them: 20 in two seconds, 50,000 in thirty days.
    limiter.add_limit(Limit::new("api", 20, 2, [], ["account".try_into()?]));
    limiter.add_limit(Limit::new("api", 50_000, MONTH_SECONDS, [], ["account".try_into()?]));
    println!("key secret-of-acme");

    let app = Router::new().route("/", get(hello)).layer(from_fn_with_state(Arc::new(limiter), limit));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
