//! HTTP/2 to an upstream: how a connection is opened, and how a request is sent over one.

mod caller;
mod connections;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::timeout_at;

use super::link::{Failed, HeadWait};
use super::upload::{Progress, RequestBody};
use crate::listen::Wire;
pub(super) use caller::CallerId;
pub(super) use connections::{Choice, Http2Connections, StreamPlace};

/// How often a silent connection is asked whether it is still there, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_WAIT: Duration = Duration::from_secs(10);

/// The most unread bytes of one stream.
const STREAM_WINDOW: u32 = 256 * 1024;

/// The window of a connection that all callers share: the largest that HTTP/2 has. It is larger than the windows of all
/// streams that such a connection may have together (see `STREAMS_MAX`), so that unread answers never use it up.
const SHARED_WINDOW: u32 = (1 << 31) - 1;

/// The window of a connection that one caller has for itself. It caps the unread bytes of that caller; using it up
/// delays that caller's own streams and no others.
const OWN_WINDOW: u32 = 4 * 1024 * 1024;

/// Sends requests over a connection.
pub(super) type Sender = SendRequest<RequestBody>;

/// Whose streams a connection has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// Those of all callers with few streams.
    Shared,
    /// Those of a caller with many streams.
    Own,
}

/// A connection that is open.
pub(super) struct Opened {
    send: Sender,
    /// How many streams the upstream allows on it.
    streams_allowed: Arc<AtomicU32>,
}

/// Speaks HTTP/2 over these bytes.
pub(super) async fn open(wire: Wire, class: Class) -> Result<Opened, hyper::Error> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WAIT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(match class {
            Class::Shared => SHARED_WINDOW,
            Class::Own => OWN_WINDOW,
        });
    let (send, mut connection) = builder.handshake(TokioIo::new(wire)).await?;
    let streams_allowed = Arc::new(AtomicU32::new(u32::MAX));
    let allowed = Arc::clone(&streams_allowed);
    // Requests that wait for the connection are told why it ended.
    tokio::spawn(poll_fn(move |cx| {
        let polled = Pin::new(&mut connection).poll(cx).map(drop);
        if polled.is_pending() {
            let streams = connection.current_max_send_streams();
            allowed.store(u32::try_from(streams).unwrap_or(u32::MAX), Relaxed);
        }
        polled
    }));
    Ok(Opened { send, streams_allowed })
}

/// Sends the request and waits for the head of the answer.
pub(super) async fn exchange(
    mut send: Sender,
    request: Request<RequestBody>,
    progress: Option<&Progress>,
    wait: HeadWait,
) -> Result<Response<Incoming>, Failed> {
    let mut answer = std::pin::pin!(send.try_send_request(request));
    let mut deadline = wait.deadline();
    loop {
        match timeout_at(deadline, answer.as_mut()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(mut error)) => {
                return Err(match error.take_message() {
                    Some(request) => Failed::Unsent(Box::new(request)),
                    None => Failed::Broken(error.into_error()),
                });
            }
            Err(_) => match wait.extended(progress) {
                Some(later) => deadline = later,
                None => return Err(Failed::Late),
            },
        }
    }
}
