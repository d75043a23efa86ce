//! What a connection is waiting for, and how long it may.
//!
//! The socket, the requests and the connection each know a part of it; here it comes together, in numbers that cost a
//! store to change. Milliseconds since the connection began, plus one, so that zero is "not at all".

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::min_rate::allowed_wait;

/// How long a caller may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// For the head of a request, from its first byte on.
    pub(super) header: Duration,
    /// Between requests.
    pub(super) keep_alive: Duration,
    /// To take more of an answer.
    pub(super) idle: Duration,
    /// The bytes per second that it must take while it is waited for.
    pub(super) min_rate: Option<NonZeroU64>,
    /// The whole request, from its head to the last byte of its answer.
    pub(super) request: Option<Duration>,
}

/// What a connection is waiting for.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    in_flight: AtomicU32,
    head_since: AtomicU64,
    idle_since: AtomicU64,
    blocked_since: AtomicU64,
    /// How long the caller was waited for since the first request in flight began, and what it has taken.
    blocked_ms: AtomicU64,
    taken: AtomicU64,
    /// When the request began whose answer is being sent. Only HTTP/1.1 has one at a time.
    request_since: AtomicU64,
    answering: AtomicU32,
}

/// What happens when a wait is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Overdue {
    /// The caller is told that there will be no more, and may go.
    Leave,
    /// The connection is cut.
    Cut,
}

impl Clock {
    /// A connection that begins now, with the head of its first request.
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            in_flight: AtomicU32::new(0),
            head_since: AtomicU64::new(1),
            idle_since: AtomicU64::new(1),
            blocked_since: AtomicU64::new(0),
            blocked_ms: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            request_since: AtomicU64::new(0),
            answering: AtomicU32::new(0),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Bytes arrived.
    pub(super) fn heard(&self) {
        if self.in_flight.load(Relaxed) == 0 && self.head_since.load(Relaxed) == 0 {
            self.head_since.store(self.now(), Relaxed);
        }
    }

    /// The caller takes no more bytes for now.
    pub(super) fn blocked(&self) {
        if self.blocked_since.load(Relaxed) == 0 {
            self.blocked_since.store(self.now(), Relaxed);
        }
    }

    /// The caller took some bytes.
    pub(super) fn flowed(&self, bytes: usize) {
        self.taken.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Relaxed);
        match self.blocked_since.load(Relaxed) {
            0 => {}
            since => {
                self.blocked_ms.fetch_add(self.now().saturating_sub(since), Relaxed);
                self.blocked_since.store(0, Relaxed);
            }
        }
    }

    /// A request is complete enough to be served.
    pub(super) fn request_began(&self) {
        if self.in_flight.fetch_add(1, Relaxed) == 0 {
            self.blocked_ms.store(0, Relaxed);
            self.taken.store(0, Relaxed);
            self.request_since.store(self.now(), Relaxed);
        }
        self.head_since.store(0, Relaxed);
    }

    /// Its answer begins, on a connection that has one request at a time.
    pub(super) fn answered(&self) {
        self.answering.store(1, Relaxed);
    }

    /// Its answer is done, or given up.
    pub(super) fn request_ended(&self) {
        if self.in_flight.fetch_sub(1, Relaxed) == 1 {
            self.answering.store(0, Relaxed);
            self.head_since.store(0, Relaxed);
            self.idle_since.store(self.now(), Relaxed);
        }
    }

    /// Since when no request is in flight; nothing: one is. The head of a request that does not become whole keeps
    /// nothing busy.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        if self.in_flight.load(Relaxed) > 0 {
            return None;
        }
        self.began.checked_add(Duration::from_millis(self.idle_since.load(Relaxed) - 1))
    }

    /// Whether no request is being served or read.
    pub(super) fn is_silent(&self) -> bool {
        self.in_flight.load(Relaxed) == 0 && self.head_since.load(Relaxed) <= 1
    }

    /// When the connection has waited long enough, and what happens then.
    pub(super) fn deadline(&self, waits: &Waits, protocol: Protocol) -> Option<(Instant, Overdue)> {
        let by = self.request_deadline(waits).filter(|_| protocol == Protocol::Http1);
        let (since, wait, overdue) = match self.blocked_since.load(Relaxed) {
            0 if self.in_flight.load(Relaxed) > 0 => return by.map(|by| (by, Overdue::Cut)),
            0 => match (protocol, self.head_since.load(Relaxed)) {
                // In HTTP/2 there are bytes without requests, such as pings, and callers that connect beforehand.
                (Protocol::Http1, since @ 1..) => (since, waits.header, Overdue::Cut),
                _ => (self.idle_since.load(Relaxed), waits.keep_alive, Overdue::Leave),
            },
            since => (since, self.blocked_max(waits), Overdue::Cut),
        };
        let at = self.began.checked_add(Duration::from_millis(since - 1))?.checked_add(wait)?;
        Some((by.map_or(at, |by| by.min(at)), overdue))
    }

    /// How long the caller may take nothing.
    fn blocked_max(&self, waits: &Waits) -> Duration {
        let Some(rate) = waits.min_rate else { return waits.idle };
        let waited = Duration::from_millis(self.blocked_ms.load(Relaxed));
        allowed_wait(rate, self.taken.load(Relaxed)).saturating_sub(waited).min(waits.idle)
    }

    /// When the answer that is being sent has to be at its end.
    fn request_deadline(&self, waits: &Waits) -> Option<Instant> {
        let request = waits.request.filter(|_| self.answering.load(Relaxed) == 1)?;
        let since = self.request_since.load(Relaxed).saturating_sub(1);
        self.began.checked_add(Duration::from_millis(since))?.checked_add(request)
    }
}

/// What is spoken on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Waits = Waits {
        header: Duration::from_secs(10),
        keep_alive: Duration::from_secs(75),
        idle: Duration::from_secs(60),
        min_rate: None,
        request: None,
    };

    fn wait(clock: &Clock, protocol: Protocol) -> Option<(u64, Overdue)> {
        let (deadline, overdue) = clock.deadline(&WAITS, protocol)?;
        Some((deadline.duration_since(clock.began).as_secs(), overdue))
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_is_waited_for_from_its_first_byte_on() {
        let clock = Clock::new();
        assert_eq!(wait(&clock, Protocol::Http1), Some((10, Overdue::Cut)));
        assert_eq!(wait(&clock, Protocol::Http2), Some((75, Overdue::Leave)));
        clock.request_began();
        assert_eq!(wait(&clock, Protocol::Http1), None);
        tokio::time::advance(Duration::from_secs(100)).await;
        clock.request_ended();
        assert_eq!(wait(&clock, Protocol::Http1), Some((175, Overdue::Leave)));
        tokio::time::advance(Duration::from_secs(20)).await;
        clock.heard();
        assert_eq!(wait(&clock, Protocol::Http1), Some((130, Overdue::Cut)));
        assert_eq!(wait(&clock, Protocol::Http2), Some((175, Overdue::Leave)));
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.heard();
        assert_eq!(wait(&clock, Protocol::Http1), Some((130, Overdue::Cut)), "more bytes are no more time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_takes_nothing_is_waited_for_even_while_it_is_served() {
        let clock = Clock::new();
        clock.request_began();
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.blocked();
        assert_eq!(wait(&clock, Protocol::Http1), Some((65, Overdue::Cut)));
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.blocked();
        assert_eq!(wait(&clock, Protocol::Http1), Some((65, Overdue::Cut)));
        clock.flowed(1);
        assert_eq!(wait(&clock, Protocol::Http1), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_is_waited_for_as_long_as_what_it_took_allows() {
        let waits = Waits { min_rate: NonZeroU64::new(100), ..WAITS };
        let secs = |clock: &Clock| {
            let (deadline, _) = clock.deadline(&waits, Protocol::Http1)?;
            Some(deadline.duration_since(clock.began).as_secs())
        };
        let clock = Clock::new();
        clock.request_began();
        clock.blocked();
        assert_eq!(secs(&clock), Some(10));
        tokio::time::advance(Duration::from_secs(8)).await;
        clock.flowed(500);
        assert_eq!(secs(&clock), None);
        clock.blocked();
        assert_eq!(secs(&clock), Some(15), "two seconds are left, and five were bought");
        clock.flowed(1_000_000);
        clock.blocked();
        assert_eq!(secs(&clock), Some(68), "the idle timeout holds all the same");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_its_maximum_once_its_answer_has_begun() {
        let waits = Waits { request: Some(Duration::from_secs(30)), ..WAITS };
        let clock = Clock::new();
        tokio::time::advance(Duration::from_secs(5)).await;
        clock.request_began();
        assert_eq!(clock.deadline(&waits, Protocol::Http1), None);
        clock.answered();
        let (deadline, overdue) = clock.deadline(&waits, Protocol::Http1).unwrap();
        assert_eq!((deadline.duration_since(clock.began).as_secs(), overdue), (35, Overdue::Cut));
        clock.request_ended();
        assert_eq!(wait(&clock, Protocol::Http1), Some((80, Overdue::Leave)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_goes_on_after_the_head_of_its_answer_is_no_new_head() {
        let clock = Clock::new();
        clock.request_began();
        clock.heard();
        clock.request_began();
        clock.request_ended();
        assert_eq!(wait(&clock, Protocol::Http1), None, "one of two is still served");
        clock.request_ended();
        assert_eq!(wait(&clock, Protocol::Http1), Some((75, Overdue::Leave)));
        assert!(clock.is_silent());
    }
}
