//! How a caller takes the answer of one HTTP/2 stream, and the end of those that are not taken.
//!
//! A body that is not polled cannot time anything. So the time is kept where the stream runs: the body says when it has
//! handed out a part, and the stream's task ends the stream if the caller grants no window for it.

use std::future::Future;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::Instant;

use super::alarm::Alarm;
use super::min_rate::allowed_wait;

/// How long a caller may take over its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReaderLimits {
    /// To take anything of what is ready for it.
    pub(super) idle: Duration,
    /// The bytes per second that it must take while it is waited for.
    pub(super) min_rate: Option<NonZeroU64>,
    /// The whole request, from its head to the last byte of the answer.
    pub(super) request: Option<Duration>,
}

/// What the body of an answer and the task of its stream know in common. Both run in the same task.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// How often the body was polled.
    polls: AtomicU32,
    /// What the last poll has come to.
    last: AtomicU32,
    /// The bytes that were handed out.
    bytes: AtomicU64,
}

/// There is no body yet, or it waits for the upstream.
const WAITING: u32 = 0;
/// A part was handed out: it is in flight, or waits for the caller.
const HANDED_OUT: u32 = 1;
/// The answer has begun; nothing was handed out yet.
const ANSWERED: u32 = 2;

impl Reader {
    /// The answer has begun.
    pub(super) fn answered(&self) {
        self.last.store(ANSWERED, Relaxed);
    }

    /// The body was polled, and has handed out so many bytes. Nothing: it waits for the upstream.
    pub(super) fn polled(&self, handed_out: Option<usize>) {
        self.polls.store(self.polls.load(Relaxed).wrapping_add(1), Relaxed);
        match handed_out {
            None => self.last.store(WAITING, Relaxed),
            Some(bytes) => {
                self.last.store(HANDED_OUT, Relaxed);
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                self.bytes.store(self.bytes.load(Relaxed).saturating_add(bytes), Relaxed);
            }
        }
    }
}

pin_project! {
    /// A stream that ends if its caller does not take its answer.
    pub(super) struct TimedStream<F> {
        #[pin]
        stream: F,
        reader: Arc<Reader>,
        limits: ReaderLimits,
        began: Instant,
        stall: Option<Stall>,
        waited: Duration,
        alarm: Option<Alarm>,
    }
}

/// The caller is waited for.
#[derive(Clone, Copy)]
struct Stall {
    since: Instant,
    polls: u32,
}

impl<F> TimedStream<F> {
    pub(super) fn new(stream: F, reader: Arc<Reader>, limits: ReaderLimits) -> Self {
        let (began, waited) = (Instant::now(), Duration::ZERO);
        Self { stream, reader, limits, began, stall: None, waited, alarm: None }
    }
}

impl<F: Future<Output = ()>> Future for TimedStream<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.stream.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let (polls, last) = (this.reader.polls.load(Relaxed), this.reader.last.load(Relaxed));
        if let Some(stall) = this.stall.take_if(|stall| stall.polls != polls || last != HANDED_OUT) {
            *this.waited = this.waited.saturating_add(stall.since.elapsed());
        }
        let mut deadline = None;
        if last == HANDED_OUT {
            let stall = this.stall.get_or_insert_with(|| Stall { since: Instant::now(), polls });
            let rate = this
                .limits
                .min_rate
                .map(|rate| allowed_wait(rate, this.reader.bytes.load(Relaxed)).saturating_sub(*this.waited));
            let wait = rate.map_or(this.limits.idle, |rate| rate.min(this.limits.idle));
            deadline = stall.since.checked_add(wait);
        }
        if let Some(request) = this.limits.request
            && (polls > 0 || last == ANSWERED)
        {
            // Before its answer begins, the service answers that it takes too long.
            let end = this.began.checked_add(request);
            deadline = deadline.map_or(end, |deadline| end.map(|end| end.min(deadline)));
        }
        let Some(deadline) = deadline else { return Poll::Pending };
        let alarm = this.alarm.get_or_insert_with(|| Alarm::at(deadline));
        alarm.set_at(deadline);
        // The stream is dropped with this: the caller is told so by a reset, and what it held is free.
        alarm.poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const LIMITS: ReaderLimits =
        ReaderLimits { idle: Duration::from_secs(60), min_rate: None, request: None };

    /// A stream that polls its body as this says, every so often, until it is ended. Says after how many seconds.
    async fn ended_after(
        limits: ReaderLimits,
        every: Duration,
        polled: impl Fn(&Reader) + Send + 'static,
    ) -> u64 {
        let (reader, began) = (Arc::<Reader>::default(), Instant::now());
        let body = Arc::clone(&reader);
        let mut pause = Alarm::after(every);
        let stream = poll_fn(move |cx| {
            while pause.poll(cx).is_ready() {
                polled(&body);
                pause.set(every);
            }
            Poll::Pending
        });
        let ended = TimedStream::new(stream, reader, limits);
        let _ = tokio::time::timeout(Duration::from_secs(10_000), ended).await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_whose_caller_takes_nothing_more_is_ended() {
        let (stalled, reader) = (std::future::pending(), Arc::<Reader>::default());
        let (stream, began) = (TimedStream::new(stalled, Arc::clone(&reader), LIMITS), Instant::now());
        reader.answered();
        reader.polled(Some(1));
        stream.await;
        assert_eq!(began.elapsed().as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_flows_or_waits_for_the_upstream_is_not_ended() {
        let slowly = Duration::from_secs(59);
        assert_eq!(ended_after(LIMITS, slowly, |reader| reader.polled(Some(1))).await, 10_000);
        assert_eq!(ended_after(LIMITS, Duration::from_secs(600), |reader| reader.polled(None)).await, 10_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_takes_less_than_the_minimum_rate_is_ended() {
        let limits = ReaderLimits { min_rate: NonZeroU64::new(100), ..LIMITS };
        let taking = |bytes| move |reader: &Reader| reader.polled(Some(bytes));
        let every = Duration::from_secs(5);
        assert_eq!(ended_after(limits, every, taking(500)).await, 10_000);
        // The first part is there after 5 seconds. 10 seconds of waiting are free, and each of the five parts buys 2.5.
        assert_eq!(ended_after(limits, every, taking(250)).await, 27);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_its_maximum_once_its_answer_has_begun() {
        let limits = ReaderLimits { request: Some(Duration::from_secs(100)), ..LIMITS };
        let second = Duration::from_secs(1);
        assert_eq!(ended_after(limits, second, |reader| reader.polled(Some(1))).await, 100);
        assert_eq!(ended_after(limits, second, Reader::answered).await, 100);
        assert_eq!(ended_after(limits, second, |_| {}).await, 10_000);
    }
}
