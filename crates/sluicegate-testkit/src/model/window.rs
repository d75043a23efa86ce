//! Fixed and calendar windows: one count per window.

use super::meter::{Algorithm, At, END_OF_TIME, MOST, Nanos};

/// Where windows begin and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Windows {
    /// Windows of this length, aligned to the epoch.
    Aligned(Nanos),
    /// The periods of this calendar, which come with each call.
    Calendar(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) limit: u64,
    pub(super) windows: Windows,
    pub(super) held: Option<Held>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    pub(super) count: u64,
}

impl Window {
    pub(super) fn untouched(limit: u64, windows: Windows) -> Window {
        Window { limit, windows, held: None }
    }

    fn window_of_now(&self, at: &At) -> Held {
        let (start, end) = match self.windows {
            Windows::Aligned(length) => {
                let start = at.now - at.now % length;
                (start, start + length)
            }
            Windows::Calendar(_) => at.period,
        };
        Held { start, end, count: 0 }
    }

    pub(super) fn seen(&self, at: &At) -> Held {
        match self.held {
            // Windows follow each other without a gap: the window of `now` starts later once this one is over.
            Some(held) if at.now < held.end => held,
            _ => self.window_of_now(at),
        }
    }

    /// The start of the window it holds a count of, while that is not over.
    pub(super) fn held_start(&self, at: &At) -> Option<Nanos> {
        self.held.filter(|held| at.now < held.end).map(|held| held.start)
    }

    fn until_end(&self, at: &At) -> Nanos {
        self.seen(at).end.min(END_OF_TIME).saturating_sub(at.now)
    }
}

impl Algorithm for Window {
    fn capacity(&self) -> u64 {
        self.limit
    }

    fn used(&self, at: &At) -> u64 {
        self.seen(at).count
    }

    fn wait(&self, _cost: u64, at: &At) -> Nanos {
        self.until_end(at)
    }

    fn next(&self, at: &At) -> Nanos {
        self.until_end(at)
    }

    fn reset(&self, at: &At) -> Nanos {
        if self.used(at) == 0 { 0 } else { self.until_end(at) }
    }

    fn charge(&mut self, cost: u64, at: &At) {
        let mut held = self.seen(at);
        held.count = held.count.saturating_add(cost).min(MOST);
        self.held = Some(held);
    }

    fn refund(&mut self, cost: u64, _reserved: u64, charged_at: Nanos, at: &At) {
        if let Some(held) = &mut self.held {
            let still_in_it = at.now < held.end;
            if still_in_it && held.start <= charged_at {
                held.count = held.count.saturating_sub(cost);
            }
        }
    }
}
