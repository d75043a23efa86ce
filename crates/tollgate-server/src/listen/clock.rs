//! What a connection is waiting for, and how long it may.
//!
//! The socket, the requests and the connection each know a part of it; here it comes together, in numbers that cost a
//! store to change. Milliseconds since the connection began, plus one, so that zero is "not at all".

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

/// How long a caller may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// For the head of a request, from its first byte on.
    pub(super) header: Duration,
    /// Between requests.
    pub(super) keep_alive: Duration,
    /// To take more of an answer.
    pub(super) idle: Duration,
}

/// What a connection is waiting for.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    in_flight: AtomicU32,
    head_since: AtomicU64,
    idle_since: AtomicU64,
    blocked_since: AtomicU64,
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
    pub(super) fn flowed(&self) {
        if self.blocked_since.load(Relaxed) != 0 {
            self.blocked_since.store(0, Relaxed);
        }
    }

    /// A request is complete enough to be served.
    pub(super) fn request_began(&self) {
        self.in_flight.fetch_add(1, Relaxed);
        self.head_since.store(0, Relaxed);
    }

    /// Its answer is done, or given up.
    pub(super) fn request_ended(&self) {
        if self.in_flight.fetch_sub(1, Relaxed) == 1 {
            self.head_since.store(0, Relaxed);
            self.idle_since.store(self.now(), Relaxed);
        }
    }

    /// Whether no request is being served or read.
    pub(super) fn is_silent(&self) -> bool {
        self.in_flight.load(Relaxed) == 0 && self.head_since.load(Relaxed) <= 1
    }

    /// When the connection has waited long enough, and what happens then.
    pub(super) fn deadline(&self, waits: &Waits, protocol: Protocol) -> Option<(Instant, Overdue)> {
        let (since, wait, overdue) = match self.blocked_since.load(Relaxed) {
            0 if self.in_flight.load(Relaxed) > 0 => return None,
            0 => match (protocol, self.head_since.load(Relaxed)) {
                // In HTTP/2 there are bytes without requests, such as pings.
                (Protocol::Http1, since @ 1..) | (Protocol::Http2, since @ 1) => {
                    (since, waits.header, Overdue::Cut)
                }
                _ => (self.idle_since.load(Relaxed), waits.keep_alive, Overdue::Leave),
            },
            since => (since, waits.idle, Overdue::Cut),
        };
        let at = self.began.checked_add(Duration::from_millis(since - 1))?.checked_add(wait)?;
        Some((at, overdue))
    }
}

/// What is spoken on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Http1,
    Http2,
}
