//! An axum service with plans, an account and a key, in one process. Accounts, keys and usage survive a restart.

use axum::{Extension, Router, routing::get};
use sluicegate_tower::{Decision, Sluicegate};
use std::net::SocketAddr;

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/policy.yaml");

async fn hello(Extension(decision): Extension<Decision>) -> String {
    format!("hello {}\n", decision.account().unwrap_or("stranger"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gate = Sluicegate::open(POLICY).await?; // the data is in ./sluicegate-data
    gate.watch()?;
    gate.accounts().ensure("acme", "pro").await?;
    if let Some(key) = gate.accounts().ensure_key("acme", "production").await?.created() {
        println!("the key of acme, shown once: {}", key.expose());
    }
    let app = Router::new().route("/", get(hello)).route_layer(gate.layer());

    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    let ctrl_c = async { tokio::signal::ctrl_c().await.expect("signals can be received") };
    axum::serve(listener, service).with_graceful_shutdown(ctrl_c).await?;
    Ok(gate.shutdown().await?)
}
