//! The body of a request on its way to the upstream: counted, never collected.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;

/// What the upstream is sent.
pub(super) enum RequestBody {
    Empty,
    Streamed(Box<Upload>),
}

/// A body that is passed on as it comes.
pub(super) struct Upload {
    incoming: Incoming,
    left: u64,
    progress: Arc<Progress>,
}

/// How far a body has come, seen from outside of the connection that sends it.
pub(super) struct Progress {
    began: Instant,
    last_ms: AtomicU64,
    stage: AtomicU8,
}

/// What a body is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The upstream has what the caller sent so far, or is not taking it.
    Sending,
    /// The caller has not sent the next part yet.
    Awaiting,
    /// Everything was passed on.
    Done,
    /// The caller went away, or what it sent was no body.
    Broken,
    /// It is longer than allowed.
    TooLarge,
}

const STAGES: [Stage; 5] = [Stage::Sending, Stage::Awaiting, Stage::Done, Stage::Broken, Stage::TooLarge];

impl Progress {
    fn new() -> Self {
        Self { began: Instant::now(), last_ms: AtomicU64::new(0), stage: AtomicU8::new(Stage::Sending as u8) }
    }

    /// What the body is doing.
    pub(super) fn stage(&self) -> Stage {
        STAGES.get(usize::from(self.stage.load(Relaxed))).copied().unwrap_or(Stage::Broken)
    }

    /// When the last part was passed on.
    pub(super) fn last(&self) -> Option<Instant> {
        self.began.checked_add(std::time::Duration::from_millis(self.last_ms.load(Relaxed)))
    }

    fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
    }

    fn passed(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Relaxed);
        self.enter(Stage::Sending);
    }
}

impl RequestBody {
    /// The body to send for this one, and how to watch it. A request without a body has nothing to watch.
    pub(super) fn new(incoming: Incoming, max: u64) -> (Self, Option<Arc<Progress>>) {
        if incoming.is_end_stream() {
            return (Self::Empty, None);
        }
        let progress = Arc::new(Progress::new());
        let upload = Upload { incoming, left: max, progress: Arc::clone(&progress) };
        (Self::Streamed(Box::new(upload)), Some(progress))
    }
}

/// Why a body was not passed on to its end.
#[derive(Debug)]
pub(super) enum UploadError {
    /// The caller went away, or what it sent was no body.
    Caller(hyper::Error),
    /// It is longer than allowed.
    TooLarge,
}

impl fmt::Display for UploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(_) => f.write_str("the caller did not send the whole body"),
            Self::TooLarge => f.write_str("the body is longer than allowed"),
        }
    }
}

impl std::error::Error for UploadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Caller(error) => Some(error),
            Self::TooLarge => None,
        }
    }
}

impl Upload {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let frame = match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                self.progress.enter(Stage::Awaiting);
                return Poll::Pending;
            }
        };
        self.progress.passed();
        match frame {
            None => {
                self.progress.enter(Stage::Done);
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.progress.enter(Stage::Broken);
                Poll::Ready(Some(Err(UploadError::Caller(error))))
            }
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
                match self.left.checked_sub(length) {
                    Some(left) => self.left = left,
                    None => {
                        self.progress.enter(Stage::TooLarge);
                        return Poll::Ready(Some(Err(UploadError::TooLarge)));
                    }
                }
                if self.incoming.is_end_stream() {
                    self.progress.enter(Stage::Done);
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Streamed(upload) => upload.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Streamed(upload) => upload.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Streamed(upload) => upload.incoming.size_hint(),
        }
    }
}
