//! An upstream of a fixed capacity: a few requests at a time, each a while, the others wait.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const WORKERS: usize = 8;
const SERVICE_TIME: Duration = Duration::from_millis(10);

/// Starts it. It is there until the runtime ends.
pub(super) async fn start() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port")?;
    let address = listener.local_addr()?;
    let workers = Arc::new(Semaphore::new(WORKERS));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let workers = Arc::clone(&workers);
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let answer = service_fn(move |_| {
                    let workers = Arc::clone(&workers);
                    async move {
                        let _worker = workers.acquire().await;
                        tokio::time::sleep(SERVICE_TIME).await;
                        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
                    }
                });
                // A connection that breaks is the callers' to report.
                let http = hyper::server::conn::http1::Builder::new();
                let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    });
    Ok(address)
}
