//! Quotas that are nearly used up: who should hear of it does, once for each share and period.
//!
//! It is the level that is noticed and not its crossing: every admitted request of an account whose quota is half
//! used looks whether its level was announced. So nothing is missed by a crash, and what was announced is remembered
//! where it outlives one. The way of a request only compares two numbers, and below the first share nothing else;
//! above it, it looks into a small table of this process, and at the most puts a note into a queue that it never
//! waits for.

mod announce;
mod level;
mod seen;

use std::sync::atomic::AtomicU64;

use sluicegate_core::calendar::Period;
use sluicegate_core::limit::{Axis, LimitName};
use sluicegate_core::plan::{Charge, ChargePlan, HomeId, Sharer};
use sluicegate_core::rule::Rule;
use sluicegate_core::settle::{Reading, Readings};
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::alerts::Alerts;
use tokio::sync::{Mutex, mpsc};

pub use level::Level;
use seen::{Seen, Spot};

/// The most notes that wait to be announced. What does not fit is noticed again by the next request of the account.
const WAITING_MAX: usize = 4_096;

/// A quota of a shorter window is a rate by another name, and is not announced.
const WINDOW_MIN: Nanos = Nanos::from_secs(3_600);

/// How often within a sliding window it is looked again whether a share is to be announced.
const LOOKS_PER_WINDOW: u32 = 8;

/// Who pays for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payer {
    /// Where its meters live.
    pub(crate) home: HomeId,
    /// The serial of its account; 0: a client without a key, of which nobody hears.
    pub(crate) account: u64,
    /// The serial of its key.
    pub(crate) key: u64,
}

/// A quota of which some share is used that may not be announced yet.
#[derive(Clone, Debug)]
struct Note {
    payer: Payer,
    sharer: Sharer,
    limit: LimitName,
    amount: u64,
    used: u64,
    level: Level,
    span: Span,
    at: Timestamp,
    spot: Spot,
}

/// For how long a share is announced once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Span {
    /// A period that begins and ends.
    Period(Period),
    /// A window that slides: for as long as it is.
    Sliding(Nanos),
}

impl Span {
    /// The span of a charge at an instant. Nothing for slots, and for windows of which nobody wants to hear each time.
    fn of(charge: &Charge<'_>, now: Timestamp) -> Option<Self> {
        let span = match &charge.limit.rule {
            Rule::Calendar { calendar, .. } => {
                Self::Period(charge.period.unwrap_or_else(|| calendar.period_at(now)))
            }
            Rule::FixedWindow(rule) => Self::Period(rule.aligned(now)),
            Rule::SlidingWindow(rule) | Rule::SlidingBuckets(rule) | Rule::SlidingLog(rule) => {
                Self::Sliding(Nanos(rule.window.as_nanos()))
            }
            Rule::TokenBucket(bucket) => Self::Sliding(bucket.fill_time()),
            Rule::Concurrency { .. } => return None,
        };
        let length = match span {
            Self::Period(period) => period.length(),
            Self::Sliding(window) => window,
        };
        (length >= WINDOW_MIN).then_some(span)
    }

    /// A number that is another when it is time to look again.
    fn turn(self, now: Timestamp) -> u64 {
        match self {
            Self::Period(period) => period.start.as_nanos(),
            Self::Sliding(window) => now.as_nanos() / (window.0 / u64::from(LOOKS_PER_WINDOW)).max(1),
        }
    }
}

/// What is used of quotas, watched.
#[derive(Debug)]
pub(crate) struct Thresholds {
    seen: Seen,
    queue: mpsc::Sender<Note>,
    waiting: Mutex<mpsc::Receiver<Note>>,
    alerts: Alerts,
    announced: [AtomicU64; Level::ALL.len()],
}

impl Thresholds {
    pub(crate) fn new(alerts: Alerts) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let waiting = Mutex::new(waiting);
        Self { seen: Seen::default(), queue, waiting, alerts, announced: Default::default() }
    }

    /// Looks at what the meters of an admitted plan say. `sold` is the plan that the account bought, of which the other
    /// one may be a part.
    #[inline]
    pub(crate) fn watch(&self, plan: &ChargePlan<'_>, readings: &Readings, payer: Payer, sold: &Plan) {
        for (charge, reading) in plan.charges().iter().zip(readings) {
            // Half of it: what is used and what remains are all there is.
            if charge.limit.axis == Axis::Quota && reading.used >= reading.remaining {
                self.note(charge, reading, payer, sold, plan.now);
            }
        }
    }

    #[cold]
    fn note(&self, charge: &Charge<'_>, reading: &Reading, payer: Payer, sold: &Plan, now: Timestamp) {
        if payer.account == 0 {
            return;
        }
        let bought = sold.tariff.limits().find(|limit| limit.name == charge.limit.name);
        let limit = bought.unwrap_or(charge.limit);
        let amount = limit.rule.capacity();
        let Some(level) = Level::of(reading.used, amount, charge.limit.excess.is_billed()) else { return };
        let Some(span) = Span::of(charge, now) else { return };
        let spot = Spot::of(payer.home, charge.sharer, &limit.name, amount, span.turn(now));
        if self.seen.has(spot, level) {
            return;
        }
        let note = Note {
            payer,
            sharer: charge.sharer,
            limit: limit.name.clone(),
            amount,
            used: reading.used,
            level,
            span,
            at: now,
            spot,
        };
        if self.queue.try_send(note).is_ok() {
            self.seen.put(spot, level);
        }
    }
}
