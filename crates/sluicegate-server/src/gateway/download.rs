//! The body of an answer on its way to the caller.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::h2::StreamPlace;
use super::headers;
use super::link::{Link, nobody};
use super::pool::Pool;
use super::upload::Progress;
use crate::listen::Alarm;

/// The body of an answer: the upstream's, passed on as it comes, or one of our own.
pub struct ProxyBody(Kind);

enum Kind {
    Whole(Bytes),
    Linked(Box<Linked>),
    Shared(Box<Shared>),
}

/// Comes over a connection that only this body uses, and that it drives.
struct Linked {
    incoming: Incoming,
    link: Option<Box<Link>>,
    pool: Arc<Pool>,
    pace: Pace,
    asked: Asked,
}

/// Comes over a connection that is driven elsewhere.
struct Shared {
    incoming: Incoming,
    alarm: Alarm,
    pace: Pace,
    asked: Asked,
    /// The place of its stream, where it has one among others.
    place: Option<Arc<StreamPlace>>,
}

/// How long the upstream may send nothing of an answer.
pub(super) struct Pace {
    pub(super) idle: Duration,
    /// The body of the request, if there is one: as long as it flows, the exchange is not idle.
    pub(super) upload: Option<Arc<Progress>>,
}

impl Pace {
    /// A later deadline, because the request still flows. Nothing: the upstream is late.
    fn extended(&self) -> Option<Instant> {
        let later = self.upload.as_ref()?.last()? + self.idle;
        (later > Instant::now()).then_some(later)
    }
}

/// Whether the upstream is being waited for. While the caller does not take what there is, it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    NotYet,
    Waiting,
}

/// Why an answer ended before its end.
#[derive(Debug)]
pub enum BodyError {
    /// The upstream broke off.
    Upstream(hyper::Error),
    /// The upstream sent nothing for too long.
    Idle,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upstream(_) => f.write_str("the upstream broke off its answer"),
            Self::Idle => f.write_str("the upstream sent nothing more of its answer"),
        }
    }
}

impl std::error::Error for BodyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Upstream(error) => Some(error),
            Self::Idle => None,
        }
    }
}

impl ProxyBody {
    /// These bytes.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(bytes.into()))
    }

    /// What comes over this connection, which goes back to the pool after it.
    pub(super) fn linked(incoming: Incoming, mut link: Box<Link>, pool: &Arc<Pool>, pace: Pace) -> Self {
        if incoming.is_end_stream() {
            link.drive(&mut nobody());
            give_back(link, pool, pace.idle);
            return Self::whole(Bytes::new());
        }
        let (pool, asked) = (Arc::clone(pool), Asked::NotYet);
        Self(Kind::Linked(Box::new(Linked { incoming, link: Some(link), pool, pace, asked })))
    }

    /// What comes over a connection that is driven by a task of its own.
    pub(super) fn shared(incoming: Incoming, place: Option<Arc<StreamPlace>>, pace: Pace) -> Self {
        let (alarm, asked) = (Alarm::after(pace.idle), Asked::NotYet);
        Self(Kind::Shared(Box::new(Shared { incoming, alarm, pace, asked, place })))
    }
}

/// Keeps the connection, at once or as soon as the rest of the request is sent.
fn give_back(mut link: Box<Link>, pool: &Arc<Pool>, wait: Duration) {
    if link.is_ready() {
        pool.put(link);
    } else if !link.is_closed() {
        // The upstream answered before it had the whole body.
        let pool = Arc::clone(pool);
        link.wait(wait);
        tokio::spawn(async move {
            poll_fn(|cx| {
                link.drive(cx);
                if link.is_ready() || link.is_closed() {
                    return Poll::Ready(());
                }
                link.poll_late(cx)
            })
            .await;
            if link.is_ready() {
                pool.put(link);
            }
        });
    }
}

type Polled = Poll<Option<Result<Frame<Bytes>, BodyError>>>;

impl Linked {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        let Some(link) = &mut self.link else {
            return Poll::Ready(None);
        };
        // Asking for a part first lets the connection hand it over in the same turn.
        let mut polled = Pin::new(&mut self.incoming).poll_frame(&mut nobody());
        if polled.is_pending() {
            link.drive(cx);
            polled = Pin::new(&mut self.incoming).poll_frame(&mut nobody());
        }
        match polled {
            Poll::Pending => {
                if self.asked == Asked::NotYet {
                    self.asked = Asked::Waiting;
                    link.wait(self.pace.idle);
                }
                while link.poll_late(cx).is_ready() {
                    match self.pace.extended() {
                        Some(later) => link.wait_until(later),
                        None => {
                            self.link = None;
                            return Poll::Ready(Some(Err(BodyError::Idle)));
                        }
                    }
                }
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                self.asked = Asked::NotYet;
                if self.incoming.is_end_stream() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.link = None;
                Poll::Ready(Some(Err(BodyError::Upstream(error))))
            }
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
        }
    }

    fn end(&mut self) {
        if let Some(mut link) = self.link.take() {
            link.drive(&mut nobody());
            give_back(link, &self.pool, self.pace.idle);
        }
    }
}

impl Shared {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Pending => {
                if self.asked == Asked::NotYet {
                    self.asked = Asked::Waiting;
                    self.alarm.set(self.pace.idle);
                }
                while self.alarm.poll(cx).is_ready() {
                    match self.pace.extended() {
                        Some(later) => self.alarm.set_at(later),
                        None => return Poll::Ready(Some(Err(BodyError::Idle))),
                    }
                }
                Poll::Pending
            }
            Poll::Ready(frame) => {
                self.asked = Asked::NotYet;
                if matches!(frame, None | Some(Err(_))) {
                    self.place = None;
                }
                Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Upstream)))
            }
        }
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let mut polled = match &mut self.get_mut().0 {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Linked(linked) => linked.poll(cx),
            Kind::Shared(shared) => shared.poll(cx),
        };
        if let Poll::Ready(Some(Ok(frame))) = &mut polled
            && let Some(trailers) = frame.trailers_mut()
        {
            headers::trailers_toward_caller(trailers);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Linked(linked) => linked.incoming.is_end_stream(),
            Kind::Shared(shared) => shared.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Kind::Linked(linked) => linked.incoming.size_hint(),
            Kind::Shared(shared) => shared.incoming.size_hint(),
        }
    }
}
