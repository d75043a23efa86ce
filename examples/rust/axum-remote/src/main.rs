//! An axum service that asks a Sluicegate server for each decision. Start one with `sluicegate serve`.

use axum::{Extension, Router, routing::get};
use sluicegate_tower::{Decision, DecisionClient, RemoteLayer, Unreachable};
use std::{net::SocketAddr, time::Duration};

async fn hello(Extension(decision): Extension<Decision>) -> String {
    format!("hello {}\n", decision.account().unwrap_or("stranger"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::var("SLUICEGATE_URL").unwrap_or("http://127.0.0.1:8081".to_owned());
    let client = DecisionClient::new(&server)?.with_timeout(Duration::from_secs(1));
    // Without a decision, requests are answered with 503. `Unreachable::Admit` lets them pass.
    let layer = RemoteLayer::new(client, Unreachable::Deny);
    let app = Router::new().route("/", get(hello)).route_layer(layer);

    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
