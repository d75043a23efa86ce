//! From nothing to a 429 in ten lines: the third request is refused. All callers share the limit here; see
//! `axum-embedded` for keys and addresses.

use axum::{Router, routing::get};
use sluicegate_tower::Sluicegate;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gate = Sluicegate::in_memory("{identity: {anonymous: free}, tiers: {free: {rate: 2/hour}}}").await?;
    let app = Router::new().route("/", get(async || "hello\n")).route_layer(gate.layer());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
