//! A hyper server with limits, without a framework. It serves HTTP/1 and HTTP/2.

use http_body_util::Full;
use hyper::{Request, Response, body::Bytes, body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use sluicegate_tower::{Peer, Sluicegate};
use std::convert::Infallible;
use tower::{Layer as _, ServiceExt as _};

const POLICY: &str = "{identity: {anonymous: free}, tiers: {free: {rate: 1/minute, burst: 2}}}";

async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new("hello\n".into()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gate = Sluicegate::in_memory(POLICY).await?;
    let service = gate.layer().layer(tower::service_fn(hello));

    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, peer) = listener.accept().await?;
        let service = service.clone();
        let limited = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            service.clone().oneshot(request)
        });
        tokio::spawn(async move {
            auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), limited).await
        });
    }
}
