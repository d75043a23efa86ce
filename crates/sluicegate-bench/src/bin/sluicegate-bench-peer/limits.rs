//! An axum handler around the limitador crate, as one would write it: the limits of each key, in memory.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

const NAMESPACE: &str = "bench";
const VARIABLE: &str = "key";

/// More counters than any run makes: its storage is a cache, and nobody is to be evicted.
const COUNTERS_MAX: u64 = 1_000_000;

/// A rate and a monthly quota come first, as with Sluicegate; windows of further limits lie between.
const RATE_WINDOW_S: u64 = 1;
const QUOTA_WINDOW_S: u64 = 30 * 86_400;
const FURTHER_WINDOW_S: u64 = 60;

struct Limits {
    limiter: RateLimiter,
    namespace: Namespace,
    count: usize,
}

#[derive(Deserialize)]
struct Check {
    key: String,
}

#[derive(Serialize)]
struct Answer {
    allowed: bool,
}

/// Serves until the process ends.
pub(crate) async fn serve(listener: TcpListener, limits: u32) -> anyhow::Result<()> {
    let limiter = RateLimiter::new(COUNTERS_MAX);
    for number in 0..u64::from(limits) {
        let window_s = match number {
            0 => RATE_WINDOW_S,
            1 => QUOTA_WINDOW_S,
            _ => FURTHER_WINDOW_S * number,
        };
        let per_key = [Expression::parse(VARIABLE)?];
        limiter.add_limit(Limit::new(NAMESPACE, u64::MAX / 2, window_s, [], per_key));
    }
    let limits = Arc::new(Limits { limiter, namespace: NAMESPACE.into(), count: limits as usize });
    let router = Router::new().route("/check", post(check)).with_state(limits);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn check(State(limits): State<Arc<Limits>>, Json(asked): Json<Check>) -> (StatusCode, Json<Answer>) {
    let context = Context::from(HashMap::from([(VARIABLE.to_owned(), asked.key)]));
    let decided = limits.limiter.check_rate_limited_and_update(&limits.namespace, &context, 1);
    match decided {
        // Limits that do not apply would be no work.
        Ok(result) if result.counters.len() != limits.count => {
            (StatusCode::INTERNAL_SERVER_ERROR, Json(Answer { allowed: false }))
        }
        Ok(result) if !result.limited => (StatusCode::OK, Json(Answer { allowed: true })),
        Ok(_) => (StatusCode::TOO_MANY_REQUESTS, Json(Answer { allowed: false })),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, Json(Answer { allowed: false })),
    }
}
