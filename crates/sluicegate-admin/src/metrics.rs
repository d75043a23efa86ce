//! `GET /metrics`: the process in numbers, as Prometheus reads them. No label has a caller's name in it.
//!
//! Every theme is a file. How many lines there are is bounded by tiers, routes, limits and outcomes, and by a maximum.

mod abuse;
mod alerts;
mod clock;
mod decisions;
mod ledger;
mod page;
mod process;
mod shedding;
mod store;

use axum::extract::State;
use http::header::CONTENT_TYPE;

use self::page::Page;
use super::Shared;

const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Show the process in numbers
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "process",
    operation_id = "metrics",
    responses((status = 200, description = "Prometheus text", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(admin): State<Shared>) -> ([(http::HeaderName, &'static str); 1], String) {
    let mut page = Page::default();
    process::write(&mut page, &admin);
    clock::write(&mut page, &admin);
    decisions::write(&mut page, &admin);
    abuse::write(&mut page, &admin);
    store::write(&mut page, &admin).await;
    shedding::write(&mut page, &admin);
    ledger::write(&mut page, &admin).await;
    alerts::write(&mut page, &admin).await;
    ([(CONTENT_TYPE, PROMETHEUS_TEXT)], page.into_text())
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
