//! Tells a token bucket from a window where headers give only `Limit`, `Remaining` and `Reset`.
//!
//! For a bucket, `Reset` is the time until it is full, so one token takes `Reset / (Limit - Remaining)`. For a window,
//! it is the time until the window ends, and that quotient means nothing. Three observations decide:
//!
//! - One interval must explain all responses of a bucket. If none does, the limit is a window.
//! - A window that has nothing left admits nothing before its reset. If a request is admitted, the limit is a bucket.
//! - A supposed bucket that refuses a request for which a token was due, is a window after a few such refusals.

use std::time::Duration;

use super::limit_mirror::Sample;
use super::observation::ROUNDING;

/// What a response with `Limit`, `Remaining` and `Reset` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResetReport {
    pub(super) capacity: u64,
    pub(super) remaining: u64,
    /// At least the time until the bucket is full or the window ends.
    pub(super) reset: Duration,
    /// `reset` is less than this too long.
    pub(super) rounding: Duration,
}

/// Whether a limit is a token bucket, and how fast it is refilled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BucketHypothesis {
    verdict: Verdict,
    capacity: u64,
    /// The refill interval of a bucket is at least `shortest`, and less than `longest`.
    shortest: Duration,
    longest: Duration,
    /// The response with the most tokens used: rounding matters least there.
    best_used: u64,
    best_reset: Duration,
    spent: Option<Spent>,
    /// Whether room came back while most of the capacity was used, as no window does it.
    has_refilled: bool,
    /// How often a request that used a refilled token was refused.
    refusals: u8,
    refused_at: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Open,
    Bucket,
    Window,
}

/// A response had nothing remaining: a window admits no request that is sent after `since` and answered before `until`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Spent {
    since: Duration,
    until: Duration,
}

/// After so many refusals, a limit that may be a bucket is a window for good.
const REFUSALS_MAX: u8 = 2;

impl BucketHypothesis {
    pub(super) fn new() -> Self {
        Self {
            verdict: Verdict::Open,
            capacity: 0,
            shortest: Duration::ZERO,
            longest: Duration::MAX,
            best_used: 0,
            best_reset: Duration::ZERO,
            spent: None,
            has_refilled: false,
            refusals: 0,
            refused_at: None,
        }
    }

    /// Learns from a response, except that a refused token is recorded by [`Self::record_refusal`].
    pub(super) fn observe(&mut self, report: ResetReport, sample: Sample) {
        if self.capacity != report.capacity {
            // Another limit is reported. The verdict and the refusals stay, so that limits that are reported in turn
            // do not cost refusals again and again.
            let (verdict, refusals, refused_at) = (self.verdict, self.refusals, self.refused_at);
            *self = Self { verdict, refusals, refused_at, capacity: report.capacity, ..Self::new() };
        }
        self.narrow(report);
        if self.verdict == Verdict::Open && self.is_admitted_while_spent(sample) {
            self.verdict = Verdict::Bucket;
        }
        if self.verdict == Verdict::Open && self.shortest > self.longest {
            self.verdict = Verdict::Window;
        }
        if report.remaining == 0 {
            let until = sample.sent_at.saturating_add(report.reset.saturating_sub(report.rounding));
            self.spent = Some(Spent { since: sample.now, until });
        } else if self.spent_before(sample).is_some() {
            self.spent = None;
        }
    }

    /// Narrows the bounds of the refill interval.
    ///
    /// The server rounds `remaining` down, so `reset` is at most `used` intervals and more than `used - 1` of them.
    fn narrow(&mut self, report: ResetReport) {
        let used = report.capacity.saturating_sub(report.remaining);
        if used == 0 || report.reset.is_zero() {
            return;
        }
        self.shortest = self.shortest.max(part(report.reset.saturating_sub(report.rounding), used));
        if used > 1 {
            self.longest = self.longest.min(part(report.reset, used - 1));
        }
        (self.best_used, self.best_reset) = (self.best_used, self.best_reset).max((used, report.reset));
    }

    fn is_admitted_while_spent(&self, sample: Sample) -> bool {
        let is_before_reset = self.spent.is_some_and(|spent| sample.now < spent.until);
        sample.refused_for.is_none() && is_before_reset && self.spent_before(sample).is_some()
    }

    /// When a response reported nothing remaining, if it was the last one before this request was sent.
    pub(super) fn spent_before(&self, sample: Sample) -> Option<Duration> {
        self.spent.map(|spent| spent.since).filter(|since| *since <= sample.sent_at)
    }

    /// Records that a request that used a refilled token was refused.
    pub(super) fn record_refusal(&mut self, sample: Sample) {
        // Requests that were sent before the first refusal are refused with it, and count as one.
        if self.refused_at.is_some_and(|refused_at| sample.sent_at < refused_at) {
            return;
        }
        self.refused_at = Some(sample.now);
        self.refusals = self.refusals.saturating_add(1);
        if self.verdict == Verdict::Open && self.refusals >= REFUSALS_MAX {
            self.verdict = Verdict::Window;
        }
    }

    /// The refill interval, unless the limit is a window or nothing was used yet.
    ///
    /// It doubles with every refusal, until the bucket is paced as a window. An interval that is too long does not
    /// waste tokens: the next response reports them, and they are used at once.
    pub(super) fn interval(&self) -> Option<Duration> {
        if self.verdict == Verdict::Window || self.best_used == 0 {
            return None;
        }
        // A reset of one second tells nothing, because seconds are rounded up. Waiting costs less than a refusal.
        if self.verdict == Verdict::Open && self.best_reset <= ROUNDING && !self.has_refilled {
            return None;
        }
        let estimate = part(self.best_reset, self.best_used).min(self.longest);
        let slower = estimate.saturating_mul(1_u32.checked_shl(self.refusals.into()).unwrap_or(u32::MAX));
        Some(slower.min(self.best_reset).max(estimate))
    }

    /// Records that more is left than all requests that were sent explain.
    pub(super) fn record_early_refill(&mut self, remaining: u64) {
        // After a reset of a window, little is used.
        self.has_refilled |= remaining < self.capacity / 2;
    }

    /// Whether the last response had nothing remaining.
    pub(super) fn is_spent(&self) -> bool {
        self.spent.is_some()
    }

    /// Whether the limit is certainly no window.
    pub(super) fn is_certain(&self) -> bool {
        self.verdict == Verdict::Bucket
    }

    /// Whether the limit is a window.
    pub(super) fn is_refuted(&self) -> bool {
        self.verdict == Verdict::Window
    }
}

/// One of so many equal parts of a time, rounded up.
pub(super) fn part(time: Duration, parts: u64) -> Duration {
    let nanos = time.as_nanos().div_ceil(u128::from(parts.max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
