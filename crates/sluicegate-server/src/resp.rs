//! Commands as Redis has them: any client of Redis asks here whether a caller may pass.
//!
//! A command is parsed where it was read, decided at once where the meters are here, and answered into a buffer that is
//! kept: in the steady state nothing is allocated for it. All commands that have come are answered with one write.
//! `table.rs` is the table of contents; every command, or family of commands, is a file.

mod auth;
mod check;
mod command;
mod connection;
mod finish;
mod greet;
mod input;
mod renew;
mod reply;
mod session;
mod table;
mod throttle;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sluicegate_core::policy::Permissions;
use sluicegate_engine::Engine;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsStream};

pub use auth::Password;

use crate::access::Access;
use crate::listen::{Acceptor, Listener, ServeSettings, Shutdown, TlsCell, Wire, accept};

/// What all connections of the listener have in common.
#[derive(Debug)]
pub struct RespService {
    engine: Arc<Engine>,
    /// What has to be said first, unless a token is; nothing: no password opens this.
    password: Option<Password>,
    access: Access,
    /// The number of the next connection.
    ids: AtomicU64,
}

impl RespService {
    /// The commands over this engine.
    pub fn new(engine: Arc<Engine>, password: Option<Password>) -> Self {
        Self { engine, password, access: Access::open(Permissions::NONE), ids: AtomicU64::new(1) }
    }

    /// The same for these callers.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }
}

/// Serves until the end begins, then until the last command is answered or the time for that is over.
pub async fn serve(listener: Listener, settings: ServeSettings, service: RespService, shutdown: Shutdown) {
    let acceptor = Acceptor::new(&settings);
    let waits = connection::Waits::of(&settings);
    let service = Arc::new(service);
    let (tls, handshake) = (settings.tls.clone(), settings.header);
    accept(listener, acceptor, &shutdown, |stream, peer, place| {
        let (service, shutdown, tls) = (Arc::clone(&service), shutdown.clone(), tls.clone());
        tokio::spawn(async move {
            if let Some(wire) = open(stream, tls.as_deref(), handshake).await {
                place.opened();
                // Clients of Redis keep connections for as long as they run: an idle one is no sign of anything.
                place.conn.becomes_tunnel();
                connection::serve(wire, peer.ip(), &service, waits, &shutdown).await;
            }
            drop(place);
        });
    })
    .await;
}

/// The connection, after the handshake of TLS where there is one.
async fn open(stream: TcpStream, tls: Option<&TlsCell>, handshake: Duration) -> Option<Wire> {
    // Answers are written whole: nothing is gained by waiting for more.
    stream.set_nodelay(true).ok()?;
    let Some(cell) = tls else { return Some(Wire::Plain(stream)) };
    let accepted = timeout(handshake, TlsAcceptor::from(cell.current()).accept(stream)).await;
    Some(Wire::Tls(Box::new(TlsStream::Server(accepted.ok()?.ok()?))))
}
