//! The body of a request on its way to the upstream: counted and timed, never collected.

use std::fmt;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use sluicegate_tower::gateway;
use tokio::time::Instant;

use super::h2::StreamPlace;
use super::headers::CallerFilter;
use crate::listen::{Alarm, allowed_wait};

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
    rate: Option<CallerRate>,
    /// Its stream, which lasts until the body is sent or given up.
    place: Option<Arc<StreamPlace>>,
    filter: CallerFilter,
}

/// Whether the caller sends fast enough, counted over the time that it is waited for.
struct CallerRate {
    min: NonZeroU64,
    sent: u64,
    waited: Duration,
    waiting_since: Option<Instant>,
    alarm: Option<Alarm>,
}

impl CallerRate {
    /// The caller has sent so much.
    fn sent(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_add(bytes);
        if let Some(since) = self.waiting_since.take() {
            self.waited = self.waited.saturating_add(since.elapsed());
        }
    }

    /// Ready once the caller was waited for too long, for what it has sent.
    fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let left = allowed_wait(self.min, self.sent).saturating_sub(self.waited);
        let alarm = self.alarm.get_or_insert_with(|| Alarm::after(left));
        alarm.set_at(since + left);
        alarm.poll(cx)
    }
}

/// How far a body has come, seen from outside of the connection that sends it.
#[derive(Debug)]
pub(super) struct Progress {
    began: Instant,
    last_ms: AtomicU64,
    stage: AtomicU8,
    /// Whether the connection still has something of the body to send.
    held: AtomicU8,
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
    /// The caller sends less than the minimum rate.
    TooSlow,
}

const STAGES: [Stage; 6] =
    [Stage::Sending, Stage::Awaiting, Stage::Done, Stage::Broken, Stage::TooLarge, Stage::TooSlow];

impl Progress {
    fn new() -> Self {
        let stage = AtomicU8::new(Stage::Sending as u8);
        Self { began: Instant::now(), last_ms: AtomicU64::new(0), stage, held: AtomicU8::new(1) }
    }

    /// That of a body which is doing this.
    #[cfg(test)]
    pub(super) fn at(stage: Stage) -> Self {
        let progress = Self::new();
        progress.enter(stage);
        progress
    }

    /// What the body is doing.
    pub(super) fn stage(&self) -> Stage {
        STAGES.get(usize::from(self.stage.load(Relaxed))).copied().unwrap_or(Stage::Broken)
    }

    /// When the last part was passed on.
    pub(super) fn last(&self) -> Option<Instant> {
        self.began.checked_add(Duration::from_millis(self.last_ms.load(Relaxed)))
    }

    /// Whether the upstream has not taken for so long what the caller has sent.
    pub(super) fn is_untaken(&self, now: Instant, wait: Duration) -> bool {
        let is_waiting = self.held.load(Relaxed) == 1 && matches!(self.stage(), Stage::Sending | Stage::Done);
        is_waiting && self.last().is_some_and(|last| now.saturating_duration_since(last) > wait)
    }

    pub(super) fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
    }

    fn passed(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Relaxed);
        self.enter(Stage::Sending);
    }
}

impl gateway::UploadState for Progress {
    fn is_callers_fault(&self) -> bool {
        matches!(self.stage(), Stage::Broken | Stage::TooLarge | Stage::TooSlow)
    }
}

impl RequestBody {
    /// The body to send for this one, and how to watch it. A request without a body has nothing to watch.
    pub(super) fn new(
        incoming: Incoming,
        max: u64,
        min_rate: Option<NonZeroU64>,
        filter: CallerFilter,
    ) -> (Self, Option<Arc<Progress>>) {
        if incoming.is_end_stream() {
            return (Self::Empty, None);
        }
        let progress = Arc::new(Progress::new());
        let rate = min_rate.map(|min| CallerRate {
            min,
            sent: 0,
            waited: Duration::ZERO,
            waiting_since: None,
            alarm: None,
        });
        let upload =
            Upload { incoming, left: max, progress: Arc::clone(&progress), rate, place: None, filter };
        (Self::Streamed(Box::new(upload)), Some(progress))
    }

    /// Holds the place of its stream until it is sent.
    pub(super) fn hold(&mut self, place: &Arc<StreamPlace>) {
        if let Self::Streamed(upload) = self {
            upload.place = Some(Arc::clone(place));
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.progress.held.store(0, Relaxed);
    }
}

/// Why a body was not passed on to its end.
#[derive(Debug)]
pub(super) enum UploadError {
    /// The caller went away, or what it sent was no body.
    Caller(hyper::Error),
    /// It is longer than allowed.
    TooLarge,
    /// The caller sends less than the minimum rate.
    TooSlow,
}

impl fmt::Display for UploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(_) => f.write_str("the caller did not send the whole body"),
            Self::TooLarge => f.write_str("the body is longer than allowed"),
            Self::TooSlow => f.write_str("the caller sends the body slower than the minimum rate"),
        }
    }
}

impl std::error::Error for UploadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Caller(error) => Some(error),
            Self::TooLarge | Self::TooSlow => None,
        }
    }
}

impl Upload {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let frame = match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                self.progress.enter(Stage::Awaiting);
                let too_slow = self.rate.as_mut().map_or(Poll::Pending, |rate| rate.poll_too_slow(cx));
                return too_slow.map(|()| {
                    self.progress.enter(Stage::TooSlow);
                    Some(Err(UploadError::TooSlow))
                });
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
            Some(Ok(mut frame)) => {
                if let Some(trailers) = frame.trailers_mut() {
                    self.filter.clean_trailers(trailers);
                }
                self.counted(frame)
            }
        }
    }

    fn counted(&mut self, frame: Frame<Bytes>) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let length = frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
        let Some(left) = self.left.checked_sub(length) else {
            self.progress.enter(Stage::TooLarge);
            return Poll::Ready(Some(Err(UploadError::TooLarge)));
        };
        self.left = left;
        if let Some(rate) = &mut self.rate {
            rate.sent(length);
        }
        if self.incoming.is_end_stream() {
            self.progress.enter(Stage::Done);
        }
        Poll::Ready(Some(Ok(frame)))
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_is_waited_for_as_long_as_what_it_sent_allows() {
        let min = NonZeroU64::new(100).unwrap();
        let mut rate = CallerRate { min, sent: 0, waited: Duration::ZERO, waiting_since: None, alarm: None };
        let began = Instant::now();
        let six = Duration::from_secs(6);
        for _ in 0..3 {
            let waited = tokio::time::timeout(six, poll_fn(|cx| rate.poll_too_slow(cx))).await;
            assert!(waited.is_err(), "too slow after {:?}", began.elapsed());
            rate.sent(500);
        }
        // Time in which the gateway does not wait for the caller does not count.
        tokio::time::advance(Duration::from_secs(1_000)).await;
        let began = Instant::now();
        poll_fn(|cx| rate.poll_too_slow(cx)).await;
        assert_eq!(began.elapsed().as_secs(), 10 + 3 * 5 - 3 * 6);
    }
}
