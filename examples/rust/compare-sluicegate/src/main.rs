//! sluicegate-tower: rate and quota by plan, with accounts and keys.

use axum::{Extension, Router, routing::get};
use sluicegate_tower::{Decision, Sluicegate};
use tokio::net::TcpListener;

async fn hello(Extension(decision): Extension<Decision>) -> String {
    format!("hello {}\n", decision.account().unwrap_or("stranger"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `Sluicegate::open("policy.yaml")` keeps accounts, keys and usage on disk.
    let gate = Sluicegate::in_memory("{tiers: {pro: {rate: 10, burst: 20, quota: 50_000}}}").await?;
    gate.accounts().ensure("acme", "pro").await?;
    let (_, key) = gate.accounts().create_key("acme", "production").await?;
    println!("key {}", key.expose());

    let app = Router::new().route("/", get(hello)).route_layer(gate.layer());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
