//! Accepting connections, so many at a time, until the end begins; then waiting for the last of them to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::bind::Listener;
use sluicegate_node::shutdown::Shutdown;

/// How long to wait when the system cannot give us another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be, and how long the last of them have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// The most at a time. Beyond that, they wait to be accepted.
    pub(crate) connections_max: u32,
    /// How long those that are open may take once the end has begun.
    pub(crate) drain: Duration,
}

/// Hands every connection over, with the place it takes among all: whoever drops that has ended. Returns when the end
/// has begun and no connection is left, or when those that are left were cut.
pub(crate) async fn accept(
    listener: Listener,
    Places { connections_max, drain }: Places,
    shutdown: &Shutdown,
    connect: impl Fn(TcpStream, SocketAddr, OwnedSemaphorePermit),
) {
    let places = Arc::new(Semaphore::new(usize::try_from(connections_max).unwrap_or(usize::MAX)));
    tokio::select! {
        () = shutdown.begun() => {}
        () = accept_all(&listener, &places, connect) => {}
    }
    // The port is free for whoever comes next.
    drop(listener);
    if timeout(drain, places.acquire_many(connections_max)).await.is_err() {
        tracing::warn!("cutting the connections that are still open");
        shutdown.cut();
        let _ = places.acquire_many(connections_max).await;
    }
}

async fn accept_all(
    listener: &Listener,
    places: &Arc<Semaphore>,
    connect: impl Fn(TcpStream, SocketAddr, OwnedSemaphorePermit),
) {
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(places).acquire_owned().await {
        match listener.socket.accept().await {
            Ok((stream, address)) => connect(stream, address, place),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
