//! One HTTP/1.1 connection to an upstream, driven by whoever uses it.
//!
//! The connection is no task of its own. The request that has it polls it, so that a proxied request takes one task
//! and no message between threads; an idle connection is polled by nobody and is looked at when it is taken out again.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use super::upload::{Progress, RequestBody};
use crate::listen::{Alarm, Wire};

/// The most bytes that are read ahead of what the caller has taken.
const BUFFER_MAX: usize = 64 * 1024;

/// Why a request got no answer.
pub(super) enum Failed {
    /// The connection was closed before a byte of the request was sent: here it is again.
    Unsent(Box<Request<RequestBody>>),
    /// The connection broke, or what came back was no HTTP.
    Broken(hyper::Error),
    /// The upstream took too long.
    Late,
    /// The upstream changed the protocol without being asked to.
    Switched,
}

/// How long the head of an answer may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadWait {
    /// Counted from the last byte of the request.
    pub(super) read: Duration,
    /// When the whole request has to be answered, if there is a maximum.
    pub(super) by: Option<Instant>,
}

impl HeadWait {
    /// When the head has to be there, as long as nothing is known about the body of the request.
    pub(super) fn deadline(&self) -> Instant {
        self.capped(Instant::now() + self.read)
    }

    /// A later deadline, because the caller is still sending. Nothing: the head is late.
    pub(super) fn extended(&self, progress: Option<&Progress>) -> Option<Instant> {
        let later = self.capped(progress?.last()? + self.read);
        (later > Instant::now()).then_some(later)
    }

    fn capped(&self, deadline: Instant) -> Instant {
        self.by.map_or(deadline, |by| by.min(deadline))
    }
}

/// A connection.
pub(super) struct Link {
    send: SendRequest<RequestBody>,
    connection: Connection<TokioIo<Wire>, RequestBody>,
    state: State,
    alarm: Alarm,
    /// When it was last given back.
    pub(super) idle_since: Instant,
}

/// What comes over a connection comes while it is driven, and is asked for right after: to be woken for it as well
/// would be to be woken by oneself, and cost another turn of the whole task.
pub(super) fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Whether the connection may be polled again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

impl Link {
    /// Speaks HTTP/1.1 over these bytes.
    pub(super) async fn new(wire: Wire) -> Result<Box<Self>, hyper::Error> {
        let (send, connection) =
            http1::Builder::new().max_buf_size(BUFFER_MAX).handshake(TokioIo::new(wire)).await?;
        let idle_since = Instant::now();
        let alarm = Alarm::after(Duration::from_secs(60));
        Ok(Box::new(Self { send, connection, state: State::Open, alarm, idle_since }))
    }

    /// The parts of a connection that will be something else than HTTP.
    pub(super) fn into_parts(self) -> (SendRequest<RequestBody>, Connection<TokioIo<Wire>, RequestBody>) {
        (self.send, self.connection)
    }

    /// Lets the connection read and write what it can.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Open && Pin::new(&mut self.connection).poll(cx).is_ready() {
            self.state = State::Closed;
        }
    }

    /// Whether a request can be sent now.
    pub(super) fn is_ready(&self) -> bool {
        self.state == State::Open && self.send.is_ready()
    }

    /// Whether it is of no more use.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether the idle connection is still open, as far as this end knows.
    pub(super) fn still_open(&mut self) -> bool {
        // Nobody waits for it yet: the request that is sent next drives it at once.
        self.drive(&mut nobody());
        self.is_ready()
    }

    /// Sends the request and waits for the head of the answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<RequestBody>,
        progress: Option<&Progress>,
        wait: HeadWait,
    ) -> Result<Response<Incoming>, Failed> {
        let mut answer = pin!(self.send.try_send_request(request));
        self.alarm.set_at(wait.deadline());
        poll_fn(|cx| {
            self.drive(cx);
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut nobody()) {
                return Poll::Ready(answer.map_err(|mut error| match error.take_message() {
                    Some(request) => Failed::Unsent(Box::new(request)),
                    None => Failed::Broken(error.into_error()),
                }));
            }
            while self.alarm.poll(cx).is_ready() {
                match wait.extended(progress) {
                    Some(later) => self.alarm.set_at(later),
                    None => return Poll::Ready(Err(Failed::Late)),
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Starts the wait for more of the body anew.
    pub(super) fn wait(&mut self, wait: Duration) {
        self.alarm.set(wait);
    }

    /// Waits for more of the body until then.
    pub(super) fn wait_until(&mut self, deadline: Instant) {
        self.alarm.set_at(deadline);
    }

    /// Ready once the wait is over.
    pub(super) fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.alarm.poll(cx)
    }
}
