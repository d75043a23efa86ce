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

use sluicegate_engine::Engine;

pub use auth::Password;

use crate::listen::{Listener, Places, ServeSettings, Shutdown, accept};

/// What all connections of the listener have in common.
#[derive(Debug)]
pub struct RespService {
    engine: Arc<Engine>,
    /// What has to be said first; nothing: whoever connects may ask.
    password: Option<Password>,
    /// The number of the next connection.
    ids: AtomicU64,
}

impl RespService {
    /// The commands over this engine.
    pub fn new(engine: Arc<Engine>, password: Option<Password>) -> Self {
        Self { engine, password, ids: AtomicU64::new(1) }
    }
}

/// Serves until the end begins, then until the last command is answered or the time for that is over.
pub async fn serve(listener: Listener, settings: ServeSettings, service: RespService, shutdown: Shutdown) {
    let places = Places { connections_max: settings.connections_max, drain: settings.drain };
    let waits = connection::Waits::of(&settings);
    let service = Arc::new(service);
    accept(listener, places, &shutdown, |stream, _, place| {
        let (service, shutdown) = (Arc::clone(&service), shutdown.clone());
        tokio::spawn(async move {
            connection::serve(stream, &service, waits, &shutdown).await;
            drop(place);
        });
    })
    .await;
}
