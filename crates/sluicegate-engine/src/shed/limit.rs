//! How many requests may be in flight, learnt from how long they take.
//!
//! By Little's law an upstream that is busy answers `in flight / time` requests in any time. Fewer in flight make the
//! time shorter and the goodput no smaller, until its queue is empty. So the limit is moved to where requests take what
//! they take unloaded, and a little more: half of the target, and a quarter of the unloaded time, which keeps the
//! upstream busy from one request to the next. The other half is for bursts.
//!
//! What a request takes unloaded is learnt too: while few are in flight, and once in a while by letting in so few that
//! there can be no queue. Where cutting the limit does not make requests faster, there was no queue, and what they take
//! now is what they take.

use sluicegate_core::policy::Shedding;
use sluicegate_core::time::{Nanos, Timestamp};

use super::Done;
use super::cohort::{Cohort, Enrolled, Times};

/// Places are counted in this part of one, so that a limit of a few can be moved by less than one.
const PARTS: u64 = 256;

/// What nothing is known of: more than most upstreams bear, so that a start does not refuse whom it need not.
const PLACES_AT_FIRST: u64 = 64 * PARTS;
const PLACES_MAX: u64 = (1 << 20) * PARTS;

/// Whose time is taken before the limit is moved: enough to see through the noise, or half of all in flight.
const COHORT_MIN: u64 = 32;
const COHORT_MAX: u64 = 256;

/// Before anything is known, nothing is waited for longer than this.
const CLIP_AT_FIRST: Nanos = Nanos::from_secs(5);

/// How often it is looked what requests take without a queue, while there is one.
const PROBE_EVERY: Nanos = Nanos::from_secs(10);
/// The same while what is known of it may be far off.
const PROBE_SOON: Nanos = Nanos(500_000_000);
/// A probe that takes longer than this does not see what it wants to see: the highest priority leaves no gap.
const PROBE_MAX: Nanos = Nanos::from_secs(1);

/// If no request starts within the limit for this long, or eight times what one takes, those beyond it are looked at.
const WITHIN_MIN: Nanos = Nanos::from_secs(1);

/// After so many cohorts that are hardly faster with half of the places, there was no queue.
const FUTILE_MAX: u32 = 2;

/// The limit of one upstream.
#[derive(Debug)]
pub(crate) struct Limit {
    places: u64,
    /// What requests take unloaded; zero: not known.
    base: u64,
    /// What the last cohort took.
    mean: u64,
    /// How much requests differ in what they take.
    variance: u128,
    cohort: Cohort,
    /// Whether requests beyond the limit are in the cohort.
    reach: Reach,
    /// The most in flight while the cohort was open, and the fewest that one of it started with.
    peak: u64,
    fewest: u64,
    /// Whether the limit was ever moved by what was seen.
    learnt: Learnt,
    pressed: Pressed,
    cuts: Option<Cuts>,
    /// When the unloaded time was last seen.
    seen_at: Timestamp,
    next_probe: Probe,
    probe: Option<u64>,
}

/// When it is looked again what requests take without a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    Soon,
    Later,
}

/// Which requests are in a cohort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    /// Those that started within the limit.
    Within,
    /// Any: those beyond it say nothing about how much to cut, only that more is no harm.
    Beyond,
}

/// Whether the limit was ever moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Learnt {
    Nothing,
    Something,
}

/// Whether anybody was refused while the cohort was open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pressed {
    No,
    Yes,
}

/// Cuts one after the other.
#[derive(Clone, Copy, Debug)]
struct Cuts {
    /// The places before the first.
    before: u64,
    /// The slowest cohort so far, and the places it had.
    slowest: u64,
    places: u64,
    /// How many cohorts have hardly been faster since.
    futile: u32,
}

/// How many may be in flight now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// As many as the upstream bears.
    pub(crate) places: u64,
    /// For all but the highest priority: fewer during a probe.
    pub(crate) open: u64,
    /// How far those may go beyond it who have not had their share.
    pub(crate) slack: u64,
    /// How long a place is taken.
    pub(crate) round: Nanos,
}

impl Limit {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            places: PLACES_AT_FIRST,
            base: 0,
            mean: 0,
            variance: 0,
            cohort: Cohort::new(0, COHORT_MIN, CLIP_AT_FIRST, now),
            reach: Reach::Within,
            peak: 0,
            fewest: u64::MAX,
            learnt: Learnt::Nothing,
            pressed: Pressed::No,
            cuts: None,
            seen_at: now,
            next_probe: Probe::Soon,
            probe: None,
        }
    }

    pub(crate) fn room(&self, shedding: &Shedding) -> Room {
        let places = (self.places / PARTS).max(1);
        let open = self.probe.map_or(places, |probe| probe.min(places));
        Room { places, open, slack: slack(places), round: Nanos(self.base + self.aim(shedding)) }
    }

    pub(crate) fn unloaded(&self) -> Nanos {
        Nanos(self.base)
    }

    /// How long requests should wait: some, so that the upstream is never idle, and not long.
    fn aim(&self, shedding: &Shedding) -> u64 {
        shedding.target.0 / 2 + self.base / 4
    }

    /// Notes a request that starts, when this many are in flight with it.
    pub(crate) fn entered(
        &mut self,
        in_flight: u64,
        now: Timestamp,
        shedding: &Shedding,
    ) -> Option<Enrolled> {
        self.close_if_due(now, shedding);
        self.peak = self.peak.max(in_flight);
        let within = match (self.probe, self.reach) {
            (Some(probe), _) => probe,
            (None, Reach::Within) => self.places / PARTS + slack(self.places / PARTS),
            (None, Reach::Beyond) => u64::MAX,
        };
        if in_flight > within {
            let patience = WITHIN_MIN.max(Nanos(self.mean.saturating_mul(8)));
            if self.probe.is_none() && self.cohort.is_empty() && now.since(self.cohort.opened()) >= patience {
                self.reach = Reach::Beyond;
            }
            return None;
        }
        self.fewest = self.fewest.min(in_flight);
        self.cohort.enrol(now)
    }

    pub(crate) fn refused(&mut self, now: Timestamp, shedding: &Shedding) {
        self.pressed = Pressed::Yes;
        self.close_if_due(now, shedding);
    }

    pub(crate) fn left(
        &mut self,
        enrolled: Option<Enrolled>,
        done: Done,
        now: Timestamp,
        shedding: &Shedding,
    ) {
        match done {
            Done::Answered { took } => self.cohort.took(enrolled, took),
            // A failure may be fast because nothing was done; one that is slow was waited for.
            Done::Cut { took } if took.0 > self.base => self.cohort.took(enrolled, took),
            Done::Cut { .. } | Done::Unused => self.cohort.forget(enrolled),
        }
        self.close_if_due(now, shedding);
    }

    pub(crate) fn forget(&mut self, enrolled: Option<Enrolled>) {
        self.cohort.forget(enrolled);
    }

    fn close_if_due(&mut self, now: Timestamp, shedding: &Shedding) {
        // What is cut short says only that a queue has begun; how much a cut has brought, only whole cohorts say.
        let whole = self.base == 0 || self.cuts.is_some() || self.probe.is_some();
        let long = if whole { u64::MAX } else { self.base + 2 * self.aim(shedding) };
        if let Some(mut times) = self.cohort.times(Nanos(long), now) {
            self.mean = times.mean;
            // A few rare long ones may all be missing: it is not believed at once that there are none any more.
            if self.cuts.is_none() {
                self.variance = times.variance.max(self.variance - self.variance / 8);
            }
            times.variance = self.variance;
            self.close(&times, now, shedding);
            self.open(now, shedding);
        } else if self.probe.is_some() && now.since(self.cohort.opened()) >= self.rounds(PROBE_MAX, 16) {
            (self.probe, self.seen_at, self.next_probe) = (None, now, Probe::Later);
            self.open(now, shedding);
        }
    }

    /// At least this long, and at least so many times what a request takes.
    fn rounds(&self, least: Nanos, rounds: u64) -> Nanos {
        least.max(Nanos(self.base.saturating_mul(rounds)))
    }

    fn open(&mut self, now: Timestamp, shedding: &Shedding) {
        let every = match self.next_probe {
            Probe::Soon => self.rounds(PROBE_SOON, 16),
            Probe::Later => self.rounds(PROBE_EVERY, 256),
        };
        let is_due = now.since(self.seen_at) >= every;
        if is_due && self.pressed == Pressed::Yes && self.probe.is_none() && self.cuts.is_none() {
            // Half of those that an upstream without a queue works on.
            let busy = u128::from(self.places) * u128::from(self.base) / u128::from(self.mean.max(1)) / 2;
            self.probe = Some(narrowed(busy / u128::from(PARTS)).max(1));
        }
        // So many that the mean is known to a third of the aim. While the queue is far too long, fewer will do.
        let exact = narrowed(self.variance.saturating_mul(9) / u128::from(self.aim(shedding)).pow(2).max(1));
        let exact = if self.cuts.is_some() { COHORT_MIN } else { exact };
        let wanted = match self.probe {
            Some(_) => COHORT_MIN / 2,
            None => exact.max(self.places / PARTS / 2).clamp(COHORT_MIN, COHORT_MAX),
        };
        let clip = Nanos(4 * self.base.max(self.mean) + 4 * shedding.target.0);
        self.cohort = Cohort::new(self.cohort.number() + 1, wanted, clip, now);
        (self.peak, self.fewest) = (0, u64::MAX);
        (self.reach, self.pressed) = (Reach::Within, Pressed::No);
    }

    /// Moves the limit by what the cohort says.
    fn close(&mut self, times: &Times, now: Timestamp, shedding: &Shedding) {
        let mean = self.mean;
        if self.base == 0 {
            self.base = mean.max(1);
        }
        if self.probe.take().is_some() {
            return self.probed(times, now);
        }
        let aim = self.aim(shedding);
        if self.is_quiet(aim) {
            self.base = toward(self.base, mean, 8).max(1);
            (self.seen_at, self.next_probe) = (now, Probe::Later);
            self.cuts = None;
            return;
        }
        if mean < self.base && times.differs_from(self.base) {
            self.base = toward(self.base, mean, 2).max(1);
        }
        let delay = mean.saturating_sub(self.base);
        if delay > aim && self.reach == Reach::Beyond {
            return self.stuck(now);
        }
        self.learnt = Learnt::Something;
        if delay > aim {
            self.cut(times, aim, now);
        } else {
            self.cuts = None;
            if self.reach == Reach::Beyond {
                self.places = self.places.max(self.fewest.saturating_mul(PARTS)).min(PLACES_MAX);
            }
            if self.pressed == Pressed::Yes || self.peak * PARTS >= self.places {
                let step =
                    u128::from(self.places / 4 + PARTS) * u128::from(aim - delay) / u128::from(aim.max(1));
                self.places = (self.places + narrowed(step)).min(PLACES_MAX);
            }
        }
    }

    /// Whether so few were in flight that there was no queue.
    fn is_quiet(&self, aim: u64) -> bool {
        let busy = match self.learnt {
            Learnt::Nothing => self.places.into(),
            Learnt::Something => {
                u128::from(self.places) * u128::from(self.base) / u128::from(self.base + aim)
            }
        };
        self.pressed == Pressed::No && u128::from(self.peak * PARTS) * 4 <= busy * 3
    }

    /// What was seen while there could be no queue.
    fn probed(&mut self, times: &Times, now: Timestamp) {
        let is_far_off = self.mean < self.base / 4 * 3 && times.differs_from(self.base);
        self.base = if is_far_off { self.mean } else { toward(self.base, self.mean, 2) }.max(1);
        self.next_probe = if is_far_off { Probe::Soon } else { Probe::Later };
        self.seen_at = now;
    }

    fn cut(&mut self, times: &Times, aim: u64, now: Timestamp) {
        let mean = self.mean;
        let mut cuts = self.cuts();
        let is_halved = self.places <= cuts.places / 2;
        // With a queue, half of the places make it half of the time. One request alone makes no queue at all.
        let with_queue = u128::from(cuts.slowest) * u128::from(self.places) / u128::from(cuts.places.max(1));
        let is_queue = if is_halved {
            u128::from(mean) * 2 <= with_queue * 3 || times.is_cut_off()
        } else {
            self.places > PARTS || mean < cuts.slowest / 4 * 3
        };
        cuts.futile = if is_queue { 0 } else { cuts.futile + 1 };
        if !is_halved && mean > cuts.slowest {
            (cuts.slowest, cuts.places) = (mean, self.places);
        }
        if cuts.futile >= FUTILE_MAX {
            return self.undo(cuts, now);
        }
        self.cuts = Some(cuts);
        let from = self.places.min(self.peak.max(1) * PARTS);
        let wanted = u128::from(from) * u128::from(self.base + aim) / u128::from(mean.max(1));
        self.places = narrowed(wanted).clamp(from / 2, from).max(PARTS);
    }

    /// Even the highest priority alone is more than the limit, and what it asks for fits. So the limit is too small.
    fn stuck(&mut self, now: Timestamp) {
        let mut cuts = self.cuts();
        cuts.futile += 1;
        self.cuts = Some(cuts);
        if cuts.futile >= FUTILE_MAX {
            self.undo(cuts, now);
        }
    }

    fn cuts(&self) -> Cuts {
        let places = self.places;
        self.cuts.unwrap_or(Cuts { before: places, slowest: 0, places, futile: 0 })
    }

    /// Undoes cuts that made nothing faster: what requests take now is what they take.
    fn undo(&mut self, cuts: Cuts, now: Timestamp) {
        (self.base, self.places, self.cuts) = (self.mean.max(1), cuts.before, None);
        self.seen_at = now;
    }
}

/// How far those may go beyond so many places who have not had their share.
fn slack(places: u64) -> u64 {
    places / 4 + 2
}

/// A part of the way from here to there.
fn toward(from: u64, to: u64, part: u64) -> u64 {
    if to < from { from - (from - to) / part } else { from + (to - from) / part }
}

fn narrowed(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
