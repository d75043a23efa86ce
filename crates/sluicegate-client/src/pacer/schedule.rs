//! When the next request to one origin may be sent. It reads no clock and does not sleep.
//!
//! A request is sent if every known limit has room for it. Where only a response can tell how much room there is, one
//! request at a time is sent as a probe: the first one to an origin, the first after a window was reset, and the first
//! after a refusal.

use std::time::Duration;

use super::bucket_hypothesis::BucketHypothesis;
use super::limit_mirror::{LimitMirror, Room, Sample};
use super::observation::{Observation, Quota};
use super::parallel::Parallel;

/// The most limits of one origin that are followed.
const LIMITS_MAX: usize = 8;

/// Others do not wait longer than this for the response to a probe: it may be a request that takes long.
const PROBE_WAIT_MAX: Duration = Duration::from_secs(1);

/// When requests to one origin may be sent.
#[derive(Debug)]
pub(super) struct Schedule {
    limits: Vec<LimitMirror>,
    blocked_until: Duration,
    probe: Probe,
    parallel: Parallel,
    /// How many requests were sent.
    sent: u64,
    in_flight: u64,
    /// Whether a request ended without a report since none was in flight: the server may not have counted it yet.
    has_unreported: bool,
    /// What was learned about the limit without a name, while no response reports it.
    forgotten: Option<BucketHypothesis>,
}

/// Whether one request must be answered before others are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    NotNeeded,
    Needed,
    InFlight { since: Duration },
}

/// What may happen to the next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    /// It is sent now.
    Send(Ticket),
    /// It waits until `instant`, or until a response arrives.
    Wait {
        instant: Duration,
        /// Whether a response may come that ends the wait earlier.
        may_end_early: bool,
    },
}

/// A request in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticket {
    /// How many requests were sent before it.
    number: u64,
    /// How many of those were in flight when it was sent.
    in_flight_before: u64,
    sent_at: Duration,
    is_probe: bool,
}

impl Schedule {
    /// The schedule of an origin about which nothing is known.
    pub(super) fn new() -> Self {
        Self {
            limits: Vec::new(),
            blocked_until: Duration::ZERO,
            probe: Probe::Needed,
            parallel: Parallel::new(),
            sent: 0,
            in_flight: 0,
            has_unreported: false,
            forgotten: None,
        }
    }

    /// Sends the next request, or says how long it waits.
    pub(super) fn admit(&mut self, now: Duration) -> Admission {
        let mut wait_until = self.blocked_until;
        for limit in &mut self.limits {
            match limit.room(now) {
                Room::Now => {}
                Room::At(instant) => wait_until = wait_until.max(instant),
                Room::Unknown if self.probe == Probe::NotNeeded => self.probe = Probe::Needed,
                Room::Unknown => {}
            }
        }
        if now < wait_until {
            return Admission::Wait { instant: wait_until, may_end_early: self.in_flight > 0 };
        }
        if self.in_flight >= self.parallel.max {
            return wait_for_response(now);
        }
        match self.probe {
            Probe::InFlight { since } if now < since.saturating_add(PROBE_WAIT_MAX) => {
                wait_for_response(since)
            }
            Probe::NotNeeded => Admission::Send(self.send(now, false)),
            Probe::Needed | Probe::InFlight { .. } => {
                self.probe = Probe::InFlight { since: now };
                Admission::Send(self.send(now, true))
            }
        }
    }

    /// Sends a request whatever the limits say.
    pub(super) fn admit_unpaced(&mut self, now: Duration) -> Ticket {
        self.send(now, false)
    }

    fn send(&mut self, now: Duration, is_probe: bool) -> Ticket {
        self.limits.iter_mut().for_each(|limit| limit.take(now));
        self.has_unreported &= self.in_flight > 0;
        let ticket = Ticket { number: self.sent, in_flight_before: self.in_flight, sent_at: now, is_probe };
        self.sent += 1;
        self.in_flight += 1;
        ticket
    }

    /// Records the response to a request.
    pub(super) fn complete(&mut self, ticket: Ticket, observation: &Observation, now: Duration) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.has_unreported |= observation.limits.is_empty();
        if observation.refused_for.is_none() {
            self.parallel.grow();
        }
        // A refusal that arrived after the probe was sent asks for another one.
        if ticket.is_probe && matches!(self.probe, Probe::InFlight { .. }) {
            self.probe = Probe::NotNeeded;
        }
        let sent_after = self.sent.saturating_sub(ticket.number + 1);
        let sample = Sample {
            sent_at: ticket.sent_at,
            now,
            overlapping: ticket.in_flight_before.saturating_add(sent_after),
            is_last: self.in_flight == 0 && !self.has_unreported,
            is_probe: ticket.is_probe,
            refused_for: observation.refused_for,
        };
        self.observe(observation, sample);
        self.forget_stale(observation, now);
        if let Some(wait) = observation.refused_for {
            // Requests that were sent before the first refusal are refused with it, and count as one.
            if observation.limits.is_empty() && ticket.sent_at >= self.blocked_until {
                self.parallel.shrink(self.in_flight + 1);
            }
            self.blocked_until = self.blocked_until.max(now.saturating_add(wait));
            self.probe = Probe::Needed;
        }
    }

    fn observe(&mut self, observation: &Observation, sample: Sample) {
        for observed in &observation.limits {
            if let Some(limit) = self.limits.iter_mut().find(|limit| limit.name == observed.name) {
                limit.observe(observed, sample);
            } else if self.limits.len() < LIMITS_MAX {
                let known = self.forgotten.take_if(|_| matches!(observed.quota, Quota::Capacity { .. }));
                let hypothesis = known.unwrap_or_else(BucketHypothesis::new);
                self.limits.push(LimitMirror::new(observed, sample, hypothesis));
            }
        }
    }

    /// A limit that is not named any more would ask for a probe again and again.
    fn forget_stale(&mut self, observation: &Observation, now: Duration) {
        let is_named =
            |limit: &LimitMirror| observation.limits.iter().any(|observed| observed.name == limit.name);
        let stale = self.limits.extract_if(.., |limit| !is_named(limit) && limit.is_stale(now));
        self.forgotten = stale.filter_map(LimitMirror::into_hypothesis).last().or(self.forgotten.take());
    }

    /// Records that a request has no response. Its room stays taken: the server may have counted it.
    pub(super) fn cancel(&mut self, ticket: Ticket) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.has_unreported = true;
        if ticket.is_probe && matches!(self.probe, Probe::InFlight { .. }) {
            self.probe = Probe::Needed;
        }
    }
}

fn wait_for_response(since: Duration) -> Admission {
    Admission::Wait { instant: since.saturating_add(PROBE_WAIT_MAX), may_end_early: true }
}
