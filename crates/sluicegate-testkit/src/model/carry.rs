//! What survives when a limit changes under a live meter.

use super::Rule;
use super::concurrency::Concurrency;
use super::meter::{At, Meter, State};
use super::sliding_entries::SlidingEntries;
use super::sliding_window::SlidingWindow;
use super::window::Window;

/// The meter as `rule` sees it.
pub(super) fn carried(old: &Meter, rule: Rule, at: &At) -> Meter {
    let old = old.mended(at);
    if old.rule == rule {
        return old;
    }
    let mut new = Meter::untouched(rule);
    // What is kept of the period before stays as it is while periods are the same.
    let (kept, mut past) = (old.past, None);
    match (&old.state, &mut new.state) {
        (State::TokenBucket(old), State::TokenBucket(new)) => new.keep_used_units(old, at),

        // Only amounts or lease differ: counts, instants and slots stay.
        (State::Window(old), State::Window(new)) if old.windows == new.windows => {
            *new = Window { limit: new.limit, ..old.clone() };
            past = kept;
        }
        (State::SlidingWindow(old), State::SlidingWindow(new)) if old.window == new.window => {
            *new = SlidingWindow { limit: new.limit, ..old.clone() };
        }
        (State::SlidingEntries(old), State::SlidingEntries(new))
            if (old.window, old.bucket) == (new.window, new.bucket) =>
        {
            *new = SlidingEntries { limit: new.limit, ..old.clone() };
        }
        (State::Concurrency(old), State::Concurrency(new)) => {
            *new = Concurrency { limit: new.limit, lease: new.lease, ..old.clone() };
        }

        // Slots and units do not convert.
        (State::Concurrency(_), _) | (_, State::Concurrency(_)) => {}

        // Anything else: what was used becomes one charge at `now`, for a token bucket capped by its burst.
        _ => {
            let used = old.algorithm().used(at);
            if used > 0 {
                new.algorithm_mut().drain(used, at);
            }
        }
    }
    new.past = past;
    new
}
