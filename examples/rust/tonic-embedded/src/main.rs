//! A gRPC server with limits: its service is gRPC health checking. A refused call gets RESOURCE_EXHAUSTED.

use sluicegate_tower::Sluicegate;
use tonic::transport::server::{Server, TcpConnectInfo, TcpIncoming};

const POLICY: &str = "
identity: {anonymous: free}
tiers:
  free: {rate: 1/minute, burst: 2}
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gate = Sluicegate::in_memory(POLICY).await?;
    let layer = gate.layer().peer_from(|extensions| extensions.get::<TcpConnectInfo>()?.remote_addr());
    let (_reporter, health) = tonic_health::server::health_reporter();

    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:0".to_owned());
    let incoming = TcpIncoming::bind(address.parse()?)?;
    println!("listening on http://{}", incoming.local_addr()?);
    Server::builder().layer(layer).add_service(health).serve_with_incoming(incoming).await?;
    Ok(gate.shutdown().await?)
}
