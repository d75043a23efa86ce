//! Accepting connections, so many at a time, until the end begins; then waiting for the last of them to end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_node::log_gate::LogGate;
use sluicegate_node::shutdown::Shutdown;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::bind::Listener;
use super::conn_table::{Admission, ConnLimits, ConnPermit, ConnTable};
use super::reserve::Reserve;
use super::serve::ServeSettings;

/// How long to wait when the system cannot give us another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the system says when the process, or all of them, have no descriptor left.
const NO_DESCRIPTORS: [i32; 2] = [EMFILE, ENFILE];
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

static CANNOT_ACCEPT: LogGate = LogGate::new();
static ADDRESS_REFUSED: LogGate = LogGate::new();
static NO_PLACE: LogGate = LogGate::new();

/// Which connections are accepted, and how long the last of them have.
pub(crate) struct Acceptor {
    table: Arc<ConnTable>,
    reserve: Reserve,
    drain: Duration,
}

impl Acceptor {
    /// As these settings say.
    pub(crate) fn new(settings: &ServeSettings) -> Self {
        let limits = ConnLimits {
            connections_max: settings.connections_max,
            per_address: settings.per_address,
            exempt: settings.exempt.clone(),
        };
        let reserve = Reserve::of(settings.reserved_descriptors);
        Self { table: ConnTable::new(limits), reserve, drain: settings.drain }
    }

    /// Waits until no connection is left.
    async fn emptied(&self) {
        loop {
            let freed = self.table.freed();
            if self.table.is_empty() {
                return;
            }
            freed.await;
        }
    }

    /// What can be done so that the next connection is accepted after all.
    async fn recover(&self, error: &io::Error) {
        CANNOT_ACCEPT.log(|left_out| tracing::warn!(%error, left_out, "cannot accept a connection"));
        if error.raw_os_error().is_some_and(|code| NO_DESCRIPTORS.contains(&code)) {
            if self.reserve.release() {
                return;
            }
            self.table.make_room();
        }
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

/// Hands every connection over, with the place it takes among all: dropping that ends it. Returns when the end has
/// begun and no connection is left, or when those that are left were cut.
pub(crate) async fn accept(
    listener: Listener,
    acceptor: Acceptor,
    shutdown: &Shutdown,
    connect: impl Fn(TcpStream, SocketAddr, ConnPermit),
) {
    tokio::select! {
        () = shutdown.begun() => {}
        () = accept_all(&listener, &acceptor, connect) => {}
    }
    // The port is free for the next process.
    drop(listener);
    if timeout(acceptor.drain, acceptor.emptied()).await.is_err() {
        tracing::warn!("cutting the connections that are still open");
        shutdown.cut();
        acceptor.emptied().await;
    }
}

async fn accept_all(
    listener: &Listener,
    acceptor: &Acceptor,
    connect: impl Fn(TcpStream, SocketAddr, ConnPermit),
) {
    loop {
        match listener.socket.accept().await {
            Ok((stream, address)) => {
                if let Some(place) = place(acceptor, address).await {
                    connect(stream, address, place);
                }
                acceptor.reserve.refill();
            }
            Err(error) => acceptor.recover(&error).await,
        }
    }
}

/// The place of a connection; nothing: it is closed. While there is none, no more are accepted.
async fn place(acceptor: &Acceptor, address: SocketAddr) -> Option<ConnPermit> {
    loop {
        // Before the look, so that no end of a connection is missed.
        let freed = acceptor.table.freed();
        match acceptor.table.admit(address) {
            Admission::Admitted(place) => return Some(place),
            Admission::Refused => {
                ADDRESS_REFUSED.log(|left_out| {
                    tracing::warn!(
                        left_out,
                        "connections run short, and one address has its share: more of its connections are closed"
                    );
                });
                return None;
            }
            Admission::Full => {
                NO_PLACE.log(|left_out| {
                    tracing::warn!(
                        left_out,
                        "all connections are taken by requests in flight: more wait until one ends"
                    );
                });
                // One that became idle meanwhile can be closed, although none has ended.
                let _ = timeout(ACCEPT_PAUSE, freed).await;
            }
        }
    }
}
