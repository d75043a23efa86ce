//! One connection, from its first byte to its last: served, timed, and ended when the listener ends.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioIo;

use super::alarm::Alarm;
use super::answers::Answers;
use super::clock::{Clock, Overdue, Protocol, Waits};
use super::conn_table::Conn;
use super::reader::Reader;
use super::socket::Socket;
use super::streams::Streams;
use sluicegate_node::peer::Peer;
use sluicegate_node::shutdown::{Phase, Shutdown};

/// How long a caller has to go after it was told to.
const LEAVE_WAIT: Duration = Duration::from_secs(5);

/// A connection that can be told that there will be no more requests.
pub(super) trait Served: Future<Output = Result<(), hyper::Error>> {
    /// No more requests after those in flight.
    fn leave(self: Pin<&mut Self>);
}

impl<S, B> Served for http1::UpgradeableConnection<TokioIo<Socket>, S>
where
    S: hyper::service::HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn leave(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, B> Served for http2::Connection<TokioIo<Socket>, S, Streams>
where
    S: hyper::service::HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    Streams: hyper::rt::bounds::Http2ServerConnExec<S::Future, B>,
{
    fn leave(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// A connection with what limits it.
pub(super) struct Limits {
    pub(super) clock: Arc<Clock>,
    pub(super) waits: Waits,
    pub(super) protocol: Protocol,
    pub(super) shutdown: Shutdown,
    pub(super) conn: Arc<Conn>,
}

/// What a connection does about its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    NotInSight,
    Leaving,
}

/// Serves the connection until it ends, waits too long, or the listener ends.
pub(super) async fn drive<C: Served>(connection: C, limits: Limits) {
    let mut connection = std::pin::pin!(connection);
    let mut alarm = Alarm::after(limits.waits.header);
    let mut end = End::NotInSight;
    // Polled to be woken, and not again before that: the task stays the same, and so does whom to wake.
    let mut change = std::pin::pin!(limits.shutdown.reached(Phase::Draining));
    let mut cut = std::pin::pin!(limits.shutdown.reached(Phase::Cut));
    let mut evicted = std::pin::pin!(limits.conn.evicted());
    poll_fn(|cx| {
        // Registers whom to wake; what happened is looked up below.
        let _ = change.as_mut().poll(cx);
        let _ = evicted.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
    poll_fn(|cx| {
        match limits.shutdown.phase() {
            Phase::Serving => {}
            Phase::Draining if end == End::Leaving => {}
            Phase::Draining => {
                // A request that has arrived is served, also if nobody has looked at it yet.
                if connection.as_mut().poll(cx).is_ready()
                    || (limits.protocol == Protocol::Http1 && limits.clock.is_silent())
                {
                    return Poll::Ready(());
                }
                end = End::Leaving;
                connection.as_mut().leave();
                let _ = cut.as_mut().poll(cx);
            }
            Phase::Cut => return Poll::Ready(()),
        }
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if limits.conn.is_evicted() && limits.clock.idle_since().is_some() {
            // In HTTP/2 the caller is told; in HTTP/1.1 the end says it.
            connection.as_mut().leave();
            let _ = connection.as_mut().poll(cx);
            return Poll::Ready(());
        }
        while let Some((deadline, overdue)) = limits.clock.deadline(&limits.waits, limits.protocol) {
            let late = if end == End::Leaving { LEAVE_WAIT } else { Duration::ZERO };
            alarm.set_at(deadline + late);
            if alarm.poll(cx).is_pending() {
                break;
            }
            if overdue == Overdue::Cut || end == End::Leaving {
                return Poll::Ready(());
            }
            end = End::Leaving;
            connection.as_mut().leave();
            if connection.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    })
    .await;
}

/// Answers a request of this connection.
pub(super) async fn answer<S: Answers>(
    service: S,
    request: Request<Incoming>,
    peer: Peer,
    clock: Arc<Clock>,
    reader: Option<Arc<Reader>>,
) -> Result<Response<Timed<S::Body>>, Infallible> {
    let turn = Turn::begin(clock);
    let answer = service.answer(request, peer).await;
    match &reader {
        Some(reader) => reader.answered(),
        None => turn.0.answered(),
    }
    Ok(answer.map(|body| Timed { body, turn, reader }))
}

/// A request in flight.
struct Turn(Arc<Clock>);

impl Turn {
    fn begin(clock: Arc<Clock>) -> Self {
        clock.request_began();
        Self(clock)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.request_ended();
    }
}

pin_project_lite::pin_project! {
    /// A body until whose end the request is in flight.
    pub(super) struct Timed<B> {
        #[pin]
        body: B,
        turn: Turn,
        reader: Option<Arc<Reader>>,
    }
}

impl<B: Body<Data = Bytes>> Body for Timed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let polled = this.body.poll_frame(cx);
        if let Some(reader) = this.reader {
            reader.polled(match &polled {
                Poll::Ready(Some(Ok(frame))) => Some(frame.data_ref().map_or(0, Bytes::len)),
                _ => None,
            });
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
