//! A local copy of one rate limit of a server.
//!
//! Invariant for a token bucket that only this client uses and that is refilled as its policy says: the copy never has
//! more room than the server will have when a request that is sent now arrives. Every request is subtracted when it
//! is sent, and a response raises the copy at most to what the server counted minus all requests that it may not have
//! counted yet. Whether a limit is a bucket or a window is a guess that a refusal can correct. For a limit without a
//! policy, the refill interval is a guess too: see [`BucketHypothesis`].

use std::time::Duration;

use super::bucket_hypothesis::{BucketHypothesis, ResetReport, part};
use super::observation::{ObservedLimit, Quota, ROUNDING};

/// A local copy of one rate limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LimitMirror {
    pub(super) name: String,
    /// How many requests fit at `as_of`.
    level: u64,
    as_of: Duration,
    refill: Refill,
    /// Whether it is certain that nothing is refilled before the reset.
    is_window: bool,
    /// Whether a request that used a refilled token was admitted. Until then such a request is sent as a probe: in its
    /// last second, a window looks like a bucket.
    is_confirmed: bool,
    /// How often a request that used a refilled token was refused.
    refusals: u8,
    /// When a window is reset.
    reset_at: Duration,
    /// Whether only its capacity and its reset are reported, and no policy.
    is_by_reset: bool,
    hypothesis: BucketHypothesis,
    /// The least that a response reported since no request was in flight.
    lowest_remaining: u64,
    taken_at: Duration,
}

/// How a limit gets room again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refill {
    /// A token bucket: one request per interval, up to the capacity.
    Every { interval: Duration, capacity: u64 },
    /// A window: an unknown amount at this instant.
    At(Duration),
}

/// When a limit has room for the next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// It has room now.
    Now,
    /// It has none before this instant.
    At(Duration),
    /// Only a response can tell.
    Unknown,
}

/// What is known about the request that a response answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    pub(super) sent_at: Duration,
    pub(super) now: Duration,
    /// How many other requests were in flight during any part of it. The server may not have counted them yet.
    pub(super) overlapping: u64,
    /// Whether no other request is in flight any more, so that the server has counted all of them.
    pub(super) is_last: bool,
    pub(super) is_probe: bool,
    /// How long the server says to wait, if it refused the request.
    pub(super) refused_for: Option<Duration>,
}

/// A supposed bucket is not probed earlier than this after the last request, unless a response says that it is empty.
const RESPONSE_WAIT_MAX: Duration = Duration::from_secs(1);

/// After so many refusals, a limit that looks like a bucket is a window for good.
const REFUSALS_MAX: u8 = 2;

impl LimitMirror {
    /// The copy of a limit that is reported for the first time, or again. `hypothesis` is what was known before.
    pub(super) fn new(observed: &ObservedLimit, sample: Sample, hypothesis: BucketHypothesis) -> Self {
        let reset_at = sample.now.saturating_add(observed.next);
        let mut mirror = Self {
            name: observed.name.clone(),
            level: observed.remaining.saturating_sub(sample.overlapping),
            as_of: sample.now,
            refill: Refill::At(reset_at),
            is_window: false,
            is_confirmed: false,
            refusals: 0,
            reset_at,
            is_by_reset: matches!(observed.quota, Quota::Capacity { .. }),
            hypothesis,
            lowest_remaining: u64::MAX,
            taken_at: Duration::ZERO,
        };
        if mirror.is_by_reset {
            mirror.refill = mirror.next_refill_by_reset(observed, sample);
            return mirror;
        }
        mirror.is_window = is_surely_window(observed);
        if !mirror.is_window {
            mirror.refill = bucket(observed).unwrap_or(mirror.refill);
        }
        mirror
    }

    /// When the next request fits.
    pub(super) fn room(&mut self, now: Duration) -> Room {
        self.advance(now);
        match self.next_refill_at() {
            _ if self.level > 0 => Room::Now,
            instant if now < instant => Room::At(instant),
            _ => Room::Unknown,
        }
    }

    fn next_refill_at(&self) -> Duration {
        match self.refill {
            // Responses that are on their way may report room, so that no probe is needed.
            Refill::Every { interval, .. } if self.awaits_responses() => {
                self.as_of.saturating_add(interval).max(self.taken_at.saturating_add(RESPONSE_WAIT_MAX))
            }
            Refill::Every { interval, .. } => self.as_of.saturating_add(interval),
            Refill::At(reset) => reset,
        }
    }

    /// Whether the level of a supposed bucket is zero, but no response has reported that yet.
    fn awaits_responses(&self) -> bool {
        self.is_by_reset && !self.is_confirmed && !self.hypothesis.is_spent()
    }

    /// Subtracts a request that is sent now.
    pub(super) fn take(&mut self, now: Duration) {
        self.taken_at = now;
        match self.refill {
            // A probe uses the token that is due.
            Refill::Every { interval, .. } if self.level == 0 && !self.is_confirmed => {
                self.as_of = self.as_of.saturating_add(interval).min(now);
            }
            _ => self.level = self.level.saturating_sub(1),
        }
    }

    /// Whether only a response could tell how much room there is. Without one that names it, the limit is forgotten.
    pub(super) fn is_stale(&mut self, now: Duration) -> bool {
        match self.refill {
            Refill::At(reset) => reset <= now,
            Refill::Every { .. } => self.is_by_reset && self.room(now) == Room::Unknown,
        }
    }

    /// What is worth keeping of a limit that is forgotten.
    pub(super) fn into_hypothesis(self) -> Option<BucketHypothesis> {
        self.is_by_reset.then_some(self.hypothesis)
    }

    /// Corrects the copy by a response.
    pub(super) fn observe(&mut self, observed: &ObservedLimit, sample: Sample) {
        self.is_by_reset = matches!(observed.quota, Quota::Capacity { .. });
        if !self.is_confirmed && self.level == 0 && self.confirms(observed, sample) {
            self.is_confirmed = true;
            if !self.is_by_reset {
                // The token that was refilled is used, so the next interval begins now.
                self.as_of = sample.now;
            }
        }
        self.advance(sample.now);
        let mut at_least = observed.remaining.saturating_sub(sample.overlapping);
        if self.is_by_reset {
            at_least = at_least.max(self.counted_by_server(observed, sample));
        }
        self.reset_at = self.next_reset(observed, sample, at_least);
        if self.is_by_reset {
            if at_least > self.level {
                self.hypothesis.record_early_refill(observed.remaining);
            }
            self.refill = self.next_refill_by_reset(observed, sample);
        } else {
            self.refill = self.next_refill_by_policy(observed, sample, at_least);
        }
        let at_most = observed.remaining.saturating_add(self.refilled_during(sample));
        // A corrected level begins a new interval, so that no refill is counted twice.
        if !(at_least..=at_most).contains(&self.level) {
            (self.level, self.as_of) = (self.level.clamp(at_least, at_most), sample.now);
        }
    }

    /// Whether a response to a request for which there was no room shows that tokens are refilled one by one.
    fn confirms(&self, observed: &ObservedLimit, sample: Sample) -> bool {
        let is_admitted_probe = sample.is_probe && sample.refused_for.is_none();
        if !self.is_by_reset {
            return is_admitted_probe;
        }
        let (Refill::Every { interval, .. }, Some(spent)) =
            (self.refill, self.hypothesis.spent_before(sample))
        else {
            return false;
        };
        let refilled = intervals(sample.now.saturating_sub(spent), interval);
        // If more than that came back at once, it may be a new window.
        is_admitted_probe && observed.remaining <= refilled.saturating_add(self.refilled_during(sample))
    }

    /// What the server has left at least, if it has counted all requests that were sent; else zero.
    fn counted_by_server(&mut self, observed: &ObservedLimit, sample: Sample) -> u64 {
        self.lowest_remaining = self.lowest_remaining.min(observed.remaining);
        if sample.is_last { std::mem::replace(&mut self.lowest_remaining, u64::MAX) } else { 0 }
    }

    /// When the limit is reset, if it is a window.
    fn next_reset(&self, observed: &ObservedLimit, sample: Sample, at_least: u64) -> Duration {
        let reset = sample.now.saturating_add(observed.next);
        let is_same = sample.sent_at < self.reset_at && reset <= self.reset_at.saturating_add(ROUNDING);
        // The request was sent before the known reset, but room came back: the reset was earlier than known.
        let is_passed = self.is_by_reset && at_least > self.level;
        // Seconds are rounded up, so the earliest of all estimates of one reset is the closest one.
        if is_same && !is_passed { reset.min(self.reset_at) } else { reset }
    }

    /// How a limit with a policy is refilled, as far as this response tells.
    fn next_refill_by_policy(&mut self, observed: &ObservedLimit, sample: Sample, at_least: u64) -> Refill {
        let reset = sample.now.saturating_add(observed.next);
        let is_refuted = sample.refused_for.is_some() && observed.remaining == 0;
        if is_refuted && matches!(self.refill, Refill::Every { .. }) {
            self.refusals = self.refusals.saturating_add(1);
        }
        self.is_window |= is_surely_window(observed) || self.refusals >= REFUSALS_MAX;
        match self.refill {
            // A bucket would have had room, because its next token was due. So it is a window.
            Refill::Every { .. } if self.is_window || is_refuted => Refill::At(reset),
            Refill::Every { .. } => bucket(observed).unwrap_or(Refill::At(reset)),
            // Room came back before the reset: it is a bucket.
            Refill::At(known) if sample.now < known && at_least > self.level && !self.is_window => {
                self.is_confirmed = false;
                bucket(observed).unwrap_or(Refill::At(reset))
            }
            Refill::At(_) => Refill::At(self.reset_at),
        }
    }

    /// How a limit without a policy is refilled, as far as this response tells.
    fn next_refill_by_reset(&mut self, observed: &ObservedLimit, sample: Sample) -> Refill {
        let Quota::Capacity { capacity, rounding } = observed.quota else { return self.refill };
        let (remaining, reset) = (observed.remaining, observed.next);
        self.hypothesis.observe(ResetReport { capacity, remaining, reset, rounding }, sample);
        let was_bucket = matches!(self.refill, Refill::Every { .. });
        if let Some(wait) = sample.refused_for
            && remaining == 0
        {
            if was_bucket {
                self.hypothesis.record_refusal(sample);
            }
            self.is_confirmed = false;
            if !self.hypothesis.is_refuted() {
                return Refill::At(sample.now.saturating_add(wait.min(reset)));
            }
        }
        let Some(interval) = self.hypothesis.interval() else { return Refill::At(self.reset_at) };
        if !was_bucket {
            (self.is_confirmed, self.as_of) = (false, sample.now);
        }
        self.is_confirmed |= self.hypothesis.is_certain();
        Refill::Every { interval, capacity }
    }

    /// The most that can have been refilled between the moment the server counted and now.
    fn refilled_during(&self, sample: Sample) -> u64 {
        match self.refill {
            Refill::Every { interval, .. } => {
                // One more for the part of a token that the server's whole number leaves out.
                intervals(sample.now.saturating_sub(sample.sent_at), interval).saturating_add(1)
            }
            Refill::At(_) => 0,
        }
    }

    fn advance(&mut self, now: Duration) {
        let Refill::Every { interval, capacity } = self.refill else { return };
        if !self.is_confirmed {
            return;
        }
        let refilled = intervals(now.saturating_sub(self.as_of), interval);
        self.level = self.level.saturating_add(refilled);
        if self.level >= capacity {
            (self.level, self.as_of) = (capacity, now.max(self.as_of));
        } else {
            let whole = u32::try_from(refilled).unwrap_or(u32::MAX);
            self.as_of = self.as_of.saturating_add(interval.saturating_mul(whole));
        }
    }
}

/// A bucket with these numbers would have a new token sooner.
fn is_surely_window(observed: &ObservedLimit) -> bool {
    match bucket(observed) {
        Some(Refill::Every { interval, .. }) => observed.next >= interval + ROUNDING,
        _ => true,
    }
}

/// The bucket that a policy describes: its capacity is granted evenly over its window.
fn bucket(observed: &ObservedLimit) -> Option<Refill> {
    let Quota::Policy { capacity, window } = observed.quota else { return None };
    Some(Refill::Every { interval: part(window, capacity), capacity })
}

/// How many whole intervals fit into a time.
fn intervals(time: Duration, interval: Duration) -> u64 {
    let count = time.as_nanos() / interval.as_nanos().max(1);
    u64::try_from(count).unwrap_or(u64::MAX)
}
