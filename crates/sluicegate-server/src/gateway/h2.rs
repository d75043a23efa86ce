//! One HTTP/2 connection to an upstream, shared by all requests that need it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::{Instant, timeout_at};

use super::link::Failed;
use super::upload::{Progress, RequestBody};
use crate::listen::Wire;

/// How often a silent connection is asked whether it is still there, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_WAIT: Duration = Duration::from_secs(10);

/// Room for the data of one stream, and of all of them, that the caller has not taken yet.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// Sends requests over such a connection.
pub(super) type Sender = SendRequest<RequestBody>;

/// The connection that is shared, once there is one.
#[derive(Default)]
pub(super) struct SharedConnection {
    current: Mutex<Option<Sender>>,
    /// Held while connecting, so that a burst of calls opens one connection and not one each.
    pub(super) opening: tokio::sync::Mutex<()>,
}

impl SharedConnection {
    /// The connection, if there is one that is open.
    pub(super) fn get(&self) -> Option<Sender> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|send| !send.is_closed()).cloned()
    }

    /// Speaks HTTP/2 over these bytes, for everyone.
    pub(super) async fn open(&self, wire: Wire) -> Result<Sender, hyper::Error> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_WAIT)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        let (send, connection) = builder.handshake(TokioIo::new(wire)).await?;
        tokio::spawn(async move {
            // Whoever waits on the connection is told why it ended.
            let _ = connection.await;
        });
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(send.clone());
        Ok(send)
    }
}

/// Sends the request and waits for the head of the answer.
pub(super) async fn exchange(
    mut send: Sender,
    request: Request<RequestBody>,
    progress: Option<&Progress>,
    wait: Duration,
) -> Result<Response<Incoming>, Failed> {
    let mut answer = std::pin::pin!(send.try_send_request(request));
    let mut deadline = Instant::now() + wait;
    loop {
        match timeout_at(deadline, answer.as_mut()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(mut error)) => {
                return Err(match error.take_message() {
                    Some(request) => Failed::Unsent(Box::new(request)),
                    None => Failed::Broken(error.into_error()),
                });
            }
            // The upstream is not late while the caller is still sending.
            Err(_) => match progress.and_then(Progress::last).map(|last| last + wait) {
                Some(later) if later > Instant::now() => deadline = later,
                _ => return Err(Failed::Late),
            },
        }
    }
}
