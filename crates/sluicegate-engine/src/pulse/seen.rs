//! Where every decision is noticed, whatever front end asked for it: once, at the end of its context.

use std::net::IpAddr;

use sluicegate_core::rule::Amount;
use sluicegate_core::time::Timestamp;

use super::events::{Change, Changed, Event};
use super::explain::{Brief, Explanation};
use super::outcome::Outcome;
use super::rows::{Kind, NONE};
use super::top::Caller;
use crate::decide::RequestContext;
use crate::decision::{Decision, StoreMode};
use crate::engine::Engine;
use crate::identify;
use crate::request::{Credential, Front, Purpose};

/// What was asked, as far as people are told about it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) front: Front,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) cost: Option<Amount>,
    pub(crate) credential: Option<Credential<'a>>,
    /// When, by the clock of this process.
    pub(crate) now: Timestamp,
    /// A number that no other decision of this process has.
    pub(crate) number: u64,
    /// Where it came from.
    pub(crate) address: Option<IpAddr>,
}

/// The same of a decision that waits for the disk, and is noticed when that has answered.
#[derive(Debug)]
pub(crate) struct Late {
    front: Front,
    method: Box<str>,
    path: Box<str>,
    cost: Option<Amount>,
    now: Timestamp,
    number: u64,
    address: Option<IpAddr>,
}

impl<'a> Asked<'a> {
    fn of(context: &RequestContext<'a>) -> Self {
        let request = context.request;
        Self {
            front: request.front,
            method: request.method,
            path: request.path,
            cost: request.cost,
            credential: Some(context.credential),
            now: context.now,
            number: context.id.count(),
            address: request.address,
        }
    }
}

impl Late {
    fn of(asked: &Asked<'_>) -> Box<Self> {
        let Asked { front, method, path, cost, now, number, address, .. } = *asked;
        Box::new(Self { front, method: method.into(), path: path.into(), cost, now, number, address })
    }

    fn asked(&self) -> Asked<'_> {
        let Self { front, method, path, cost, now, number, address } = self;
        let (front, cost, now, number, address) = (*front, *cost, *now, *number, *address);
        Asked { front, method, path, cost, credential: None, now, number, address }
    }
}

impl Engine {
    /// Notices a decision. One that was only asked about is no traffic.
    #[inline]
    pub(crate) fn seen(&self, context: &RequestContext<'_>, decision: &mut Decision) {
        if context.request.purpose == Purpose::Peek {
            return;
        }
        if decision.pending.is_some() {
            decision.late = Some(Late::of(&Asked::of(context)));
            return;
        }
        self.notice(context.request.front, context.id.count(), context.now, decision, || Asked::of(context));
    }

    /// Notices a decision whose record has reached the disk, or has not.
    pub(crate) fn seen_late(&self, decision: &mut Decision) {
        if let Some(late) = decision.late.take() {
            self.notice(late.front, late.number, late.now, decision, || late.asked());
        }
    }

    /// Nearly all are admitted, and neither looked at nor listened for: those cost three counters.
    #[inline]
    fn notice<'a>(
        &self,
        front: Front,
        number: u64,
        now: Timestamp,
        decision: &Decision,
        asked: impl Fn() -> Asked<'a>,
    ) {
        let pulse = &self.pulse;
        if pulse.past.is_over(now) {
            self.beat(now);
        }
        let outcome = Outcome::of(&decision.answer);
        let tier = decision.plan.as_ref().map_or(NONE, |plan| plan.series);
        let route = decision.policy.route_series(decision.route);
        let ours = pulse.stripes.ours();
        ours.count_front(front, outcome.index());
        ours.count(pulse.rows.series(Kind::Tier, tier, outcome));
        ours.count(pulse.rows.series(Kind::Route, route, outcome));
        if pulse.sampling.is_chosen(number) {
            self.look_at(&asked(), decision);
        }
        if outcome != Outcome::Admitted || pulse.subscribers.is_any() {
            self.tell_of(&asked(), decision);
        }
    }

    /// Looks at a decision more closely: how long it took, and whose it is.
    #[cold]
    #[inline(never)]
    fn look_at(&self, asked: &Asked<'_>, decision: &Decision) {
        let pulse = &self.pulse;
        let weight = pulse.sampling.weight();
        pulse.took[asked.front as usize].add(self.now().since(asked.now), weight);
        let account = decision.account.as_ref().or_else(|| Some(&decision.who.key.as_ref()?.account));
        let (home, caller) = match (account, decision.who.client) {
            (Some(account), _) => (account.home.0, Caller::Account(account.id.clone())),
            (None, Some(client)) => (client.0.0, Caller::Client(client)),
            // Nobody knows whose it is.
            (None, None) => return,
        };
        let tier = decision.plan.as_ref().map(|plan| &plan.name);
        if !decision.is_admitted() {
            pulse.refusals.lock().add(home, || caller.clone(), tier, weight, asked.now);
        }
        pulse.requests.lock().add(home, || caller, tier, weight, asked.now);
    }

    /// Tells those who listen of a decision, and keeps why it is a denial.
    #[cold]
    #[inline(never)]
    fn tell_of(&self, asked: &Asked<'_>, decision: &Decision) {
        let pulse = &self.pulse;
        let denial = decision.denial();
        if let Some(denial) = denial {
            if let Some(limit) = &denial.limit {
                let row = pulse.rows.row(Kind::Limit, limit.as_str());
                let outcome = Outcome::Refused(denial.error);
                pulse.stripes.ours().count(pulse.rows.series(Kind::Limit, row, outcome));
            }
            if let Some(address) = asked.address {
                self.alerting.refused.note(identify::prefixes(&self.homes, address).own);
            }
            if pulse.kept.has_room(decision.account.is_some() || decision.who.key.is_some()) {
                pulse.kept.keep(Explanation::of(asked, decision, denial), asked.number);
            }
        }
        if pulse.subscribers.is_any() && pulse.subscribers.has_room(denial.is_some()) {
            pulse.subscribers.tell(Event::Decision(Box::new(Brief::of(asked, decision))));
        }
    }

    /// Begins another second, if the last one is over: what was counted in it goes where it belongs. Called about once
    /// a second by whoever keeps time, and by the first decision after a second. It never waits.
    #[cold]
    #[inline(never)]
    pub fn beat(&self, now: Timestamp) {
        let pulse = &self.pulse;
        let Some(counted) = pulse.past.turn(now, || pulse.stripes.all()) else { return };
        pulse.sampling.turn(counted.total());
        pulse.subscribers.turn();
        pulse.kept.turn();
        let mode = self.store_mode();
        if std::mem::replace(&mut *pulse.mode.lock(), mode) != mode {
            let text = match mode {
                StoreMode::Normal => "The store is back and decides again.",
                StoreMode::Degraded => "The store is away: this node decides alone, by `degraded`.",
            };
            pulse.tell(Change { at: now, what: Changed::Mode, text: text.to_owned() });
        }
    }
}
