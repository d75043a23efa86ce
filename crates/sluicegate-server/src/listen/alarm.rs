//! A timer that is moved with every request and hardly ever rings.
//!
//! Moving the deadline back costs nothing but a store: the sleeper wakes at the old one, sees that there is time left,
//! and sleeps on. A server that moves timers in the runtime's wheel instead pays for it with every request.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Rings once its deadline has passed.
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    deadline: Instant,
}

impl Alarm {
    /// Rings after this long.
    pub(crate) fn after(wait: Duration) -> Self {
        let deadline = Instant::now() + wait;
        Self { sleep: Box::pin(sleep_until(deadline)), deadline }
    }

    /// Rings then.
    pub(crate) fn at(deadline: Instant) -> Self {
        Self { sleep: Box::pin(sleep_until(deadline)), deadline }
    }

    /// Rings this long from now instead.
    pub(crate) fn set(&mut self, wait: Duration) {
        self.set_at(Instant::now() + wait);
    }

    /// Rings then instead.
    pub(crate) fn set_at(&mut self, deadline: Instant) {
        self.deadline = deadline;
        if self.sleep.deadline() > deadline {
            self.sleep.as_mut().reset(deadline);
        }
    }

    /// Ready once the deadline has passed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= self.deadline {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(self.deadline);
        }
        Poll::Pending
    }
}
