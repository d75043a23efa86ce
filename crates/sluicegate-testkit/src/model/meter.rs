//! One meter: the rule it was last written under and its state, and the questions every algorithm answers.

use super::Rule;
use super::concurrency::Concurrency;
use super::overage::Bill;
use super::past::Past;
use super::sliding_entries::SlidingEntries;
use super::sliding_window::SlidingWindow;
use super::token_bucket::TokenBucket;
use super::window::{Window, Windows};

/// Instants and durations; wide enough that nothing overflows.
pub(super) type Nanos = u128;

pub(super) const SECOND: Nanos = 1_000_000_000;

/// The last instant there is, in February 2106.
pub(super) const END_OF_TIME: Nanos = ((1 << 32) - 1) * SECOND;

/// Where amounts, costs and counts stop.
pub(super) const MOST: u64 = (1 << 53) - 1;

/// The circumstances of a call.
#[derive(Clone)]
pub(super) struct At {
    pub(super) now: Nanos,
    /// The id under which a slot is taken or released.
    pub(super) slot: u64,
    /// Start and end of the calendar period of `now`.
    pub(super) period: (Nanos, Nanos),
}

/// The questions of the page, asked of a state that is only read, except by `charge` and `refund`.
pub(super) trait Algorithm {
    fn capacity(&self) -> u64;
    fn used(&self, at: &At) -> u64;
    fn next(&self, at: &At) -> Nanos;
    fn reset(&self, at: &At) -> Nanos;
    /// Only asked about a cost that does not fit now but is within the capacity.
    fn wait(&self, cost: u64, at: &At) -> Nanos;
    /// Charges without asking whether it fits.
    fn charge(&mut self, cost: u64, at: &At);
    /// Gives back `cost` of the `reserved` units that were charged then.
    fn refund(&mut self, cost: u64, reserved: u64, charged_at: Nanos, at: &At);

    /// Charges as above, but empties a token bucket at the most.
    fn drain(&mut self, cost: u64, at: &At) {
        self.charge(cost, at);
    }

    fn fits(&self, cost: u64, at: &At) -> bool {
        u128::from(self.used(at)) + u128::from(cost) <= u128::from(self.capacity())
    }

    /// Whether the request has a slot already, which charging it again only renews.
    fn holds(&self, _at: &At) -> bool {
        false
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meter {
    pub(super) rule: Rule,
    pub(super) state: State,
    pub(super) bill: Bill,
    pub(super) past: Option<Past>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    TokenBucket(TokenBucket),
    Window(Window),
    SlidingWindow(SlidingWindow),
    SlidingEntries(SlidingEntries),
    Concurrency(Concurrency),
}

impl Meter {
    pub(super) fn untouched(rule: Rule) -> Meter {
        let ns = |seconds: u64| u128::from(seconds) * SECOND;
        let state = match rule {
            Rule::TokenBucket { amount, window_s, burst } => {
                State::TokenBucket(TokenBucket::untouched(amount, ns(window_s), burst))
            }
            Rule::FixedWindow { limit, window_s } => {
                State::Window(Window::untouched(limit, Windows::Aligned(ns(window_s))))
            }
            Rule::Calendar { limit, calendar } => {
                State::Window(Window::untouched(limit, Windows::Calendar(calendar)))
            }
            Rule::SlidingWindow { limit, window_s } => {
                State::SlidingWindow(SlidingWindow::untouched(limit, ns(window_s)))
            }
            Rule::SlidingBuckets { limit, window_s } => {
                let bucket = ns(window_s.div_ceil(1440));
                State::SlidingEntries(SlidingEntries::untouched(limit, ns(window_s), bucket))
            }
            Rule::SlidingLog { limit, window_s } => {
                State::SlidingEntries(SlidingEntries::untouched(limit, ns(window_s), 0))
            }
            Rule::Concurrency { limit, lease_ns } => {
                State::Concurrency(Concurrency::untouched(limit, u128::from(lease_ns)))
            }
        };
        Meter { rule, state, bill: Bill::default(), past: None }
    }

    /// The start of the window that it holds a count of.
    pub(super) fn held_start(&self) -> Option<Nanos> {
        match &self.state {
            State::Window(window) => window.held.map(|held| held.start),
            _ => None,
        }
    }

    /// Has the window of now begin, with nothing used.
    pub(super) fn begin_window(&mut self, at: &At) {
        if let State::Window(window) = &mut self.state {
            window.held = None;
            window.held = Some(window.seen(at));
        }
    }

    /// The meter after what is set right before anything else.
    pub(super) fn mended(&self, at: &At) -> Meter {
        let mut meter = self.clone();
        if let State::TokenBucket(bucket) = &mut meter.state {
            bucket.mend(at);
        }
        meter
    }

    pub(super) fn algorithm(&self) -> &dyn Algorithm {
        match &self.state {
            State::TokenBucket(state) => state,
            State::Window(state) => state,
            State::SlidingWindow(state) => state,
            State::SlidingEntries(state) => state,
            State::Concurrency(state) => state,
        }
    }

    pub(super) fn algorithm_mut(&mut self) -> &mut dyn Algorithm {
        match &mut self.state {
            State::TokenBucket(state) => state,
            State::Window(state) => state,
            State::SlidingWindow(state) => state,
            State::SlidingEntries(state) => state,
            State::Concurrency(state) => state,
        }
    }
}

pub(super) fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
