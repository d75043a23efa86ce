//! The steps of a request's way that look at how its caller behaves.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::limit::{Limit, LimitName};
use sluicegate_core::limit_now::{ConductNow, LimitNow};
use sluicegate_core::plan::{ChargePlan, HomeId, Mode, Sharer, SubjectClass};
use sluicegate_core::policy::{Blocks, Bucket, Percent, Pressure};
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::{Nanos, Timestamp};

use sluicegate_ledger::Flags;

use super::plans::{Sharing, Size};
use super::seat::{SeatKind, Seated, counts_for};
use super::standings::Standing;
use super::stored::StoredSubjects;
use sluicegate_core::block::Caller as Blockable;

use crate::ErrorCode;
use crate::abuse::{EdgeVerdict, Squeeze};
use crate::decide::RequestContext;
use crate::decision::{Denial, StoreMode};
use crate::engine::{Counters, Engine};
use crate::identify::{self, Client, ClientKind};
use crate::request::Purpose;
use crate::snapshot::PolicySnapshot;

/// What is known of a caller besides its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watched {
    /// Where its meters are.
    pub(crate) home: HomeId,
    /// Who it is there.
    pub(crate) sharer: Sharer,
    /// What pressure on its address leaves of its limits.
    pub(super) share: Percent,
    /// The pressure under which its home is that of its address prefix.
    pub(super) prefix: Option<PrefixShare>,
    /// Where it sits, if it shares its home with others.
    seat: Option<Seated>,
}

/// An address prefix under pressure: its callers without a session share the prefix's meters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PrefixShare {
    /// How many clients' worth they share.
    callers: NonZeroU32,
    /// When the pressure ends at the earliest, in whole seconds, rounded up.
    pub(super) until_s: u32,
}

impl Watched {
    /// A key of an account: its address is not what it is known by.
    pub(crate) const fn key(home: HomeId, sharer: Sharer) -> Self {
        Self { home, sharer, share: Percent::FULL, prefix: None, seat: None }
    }

    /// How it stands, apart from its reputation.
    pub(crate) fn standing(&self, reputation: Option<Bucket>) -> Standing {
        Standing { reputation, squeezed: self.prefix.is_some() }
    }

    /// Whether its meters are its own.
    pub(crate) fn is_alone(&self) -> bool {
        self.seat.is_none() && self.prefix.is_none()
    }

    /// Whether its meters are those of its address prefix.
    pub(crate) fn is_prefix(&self) -> bool {
        self.prefix.is_some()
    }

    /// What records of its requests say about its meters.
    pub(crate) fn flags(&self) -> Flags {
        match (self.seat, self.prefix) {
            (None, None) => Flags::NONE,
            (None, Some(_)) => Flags::PREFIX,
            (Some(_), _) => Flags::OVERFLOW,
        }
    }

    /// How many callers the limits of its home are for.
    fn members(&self) -> u64 {
        let in_prefix = self.prefix.map_or(1, |prefix| prefix.callers.get().into());
        self.seat.map_or(1, |seated| 1 << seated.seat.members_log2) * in_prefix
    }

    fn sharing(&self) -> Sharing {
        match (self.seat, self.prefix) {
            (None, None) => Sharing::Alone,
            (None, Some(_)) => Sharing::Prefix(self.members()),
            (Some(_), _) => Sharing::Overflow(self.members()),
        }
    }

    /// A limit of what it bought, as its home has it with this share.
    pub(super) fn scaled(&self, sold: &Limit, share: Percent) -> Limit {
        let scaled = sold.scaled(share);
        if self.is_alone() { scaled } else { scaled.times(self.members()) }
    }

    /// What the limits of its home say, as one of those who share it is told.
    #[inline]
    pub(crate) fn show_own_part(&self, limits: &mut Vec<LimitNow>) {
        if !self.is_alone() {
            let all = std::mem::take(limits).into_iter();
            *limits = all.map(|limit| limit.of_one_among(self.members())).collect();
        }
    }
}

impl Engine {
    /// Before anything else: whether an address has sent too much.
    #[inline]
    pub(crate) fn at_the_edge(&self, context: &RequestContext<'_>) -> Option<Denial> {
        context.policy.policy().edge.as_ref()?;
        let address = context.request.address.filter(|_| context.request.purpose == Purpose::Charge)?;
        self.ip_denial(&context.policy, address, context.now)
    }

    /// Whether an address has sent too much for the per-IP limit of a policy.
    pub(crate) fn ip_denial(
        &self,
        policy: &PolicySnapshot,
        address: IpAddr,
        now: Timestamp,
    ) -> Option<Denial> {
        let edge = policy.policy().edge.as_ref()?;
        let prefixes = identify::prefixes(&self.homes, address);
        let own = self.watch.edge.check(prefixes.own, &edge.bucket, now);
        let verdict = match (own, prefixes.network) {
            (EdgeVerdict::Pass, Some(network)) => self.watch.edge.check(network, policy.network()?, now),
            (verdict, _) => verdict,
        };
        let EdgeVerdict::Refuse { retry_after } = verdict else { return None };
        Counters::count(&self.counters.edge_refused);
        let error = ErrorCode::RateLimited;
        Some(Denial { limit: LimitName::new(LimitName::EDGE), retry_after, ..Denial::of(error) })
    }

    /// A client as it is watched: pressure on its address is noted, and whether it has a home of its own.
    pub(crate) fn watch_client(&self, context: &RequestContext<'_>, client: &Client, plan: &Plan) -> Watched {
        let mut watched = Watched::key(client.home, Sharer::ALL);
        if let (Some(pressure), Some(address)) = (&context.policy.policy().pressure, client.address) {
            let is_charged = context.request.purpose == Purpose::Charge;
            if is_charged {
                self.watch.origins.note(client.home, address);
            }
            let squeeze = match client.kind {
                // It has passed a challenge: it is neither counted nor squeezed.
                ClientKind::Session => Squeeze::No,
                _ if is_charged => {
                    self.watch.pressure.note(address, client.fingerprint, pressure, context.now)
                }
                _ => self.watch.pressure.look(address, context.now),
            };
            if let Squeeze::Until(until) = squeeze {
                self.share_prefix(context, &mut watched, pressure, until, plan);
            }
        }
        let address = client.address.unwrap_or(0);
        let kind = match watched.prefix {
            None => SeatKind::Caller { address },
            Some(_) => SeatKind::Prefix { address },
        };
        self.seat(context, &mut watched, kind, plan);
        watched
    }

    /// Has a caller share the meters of its address prefix. Its own meters are left as they are.
    #[cold]
    fn share_prefix(
        &self,
        context: &RequestContext<'_>,
        watched: &mut Watched,
        pressure: &Pressure,
        until: Timestamp,
        plan: &Plan,
    ) {
        let Some(address) = context.request.address else { return };
        Counters::count(&self.counters.squeezed);
        watched.share = pressure.squeeze_to;
        watched.home = identify::prefix_home(&self.homes, address, plan.name.as_str());
        let until_s = until.as_secs().saturating_add(1);
        watched.prefix = Some(PrefixShare { callers: pressure.share, until_s });
    }

    /// A name that a front end vouches for, and that the directory does not know.
    pub(crate) fn watch_stranger(&self, context: &RequestContext<'_>, home: HomeId, plan: &Plan) -> Watched {
        let mut watched = Watched::key(home, Sharer::ALL);
        // Half of a keyed hash is one.
        let name = (home.0 >> 64) as u64;
        self.seat(context, &mut watched, SeatKind::Caller { address: name }, plan);
        watched
    }

    /// Has a caller share the home of others, if there are too many of its kind.
    fn seat(&self, context: &RequestContext<'_>, watched: &mut Watched, kind: SeatKind, plan: &Plan) {
        let class = plan.tariff.class();
        let has_room = match self.shared.is_some() && self.store_mode() == StoreMode::Normal {
            false => self.watch.seats.has_room_for(class, watched.home, &self.meters),
            true if class == SubjectClass::Asked => {
                let is_charged = context.request.purpose == Purpose::Charge;
                self.has_room_in_store(watched.home, counts_for(plan), is_charged, context.now)
            }
            // Meters that are shared by nodes are the store's, and end there by themselves.
            true => true,
        };
        if !has_room {
            Counters::count(&self.counters.crowded);
            let seated = self.watch.seats.shared(watched.home, kind, plan, context.now);
            watched.home = seated.seat.home;
            watched.seat = Some(seated);
        }
    }

    /// Whether a subject that comes with the question has meters of its own in the store that nodes share, or may have.
    /// If it uses them now, that counts for so long.
    pub(crate) fn has_room_in_store(
        &self,
        subject: HomeId,
        counts_for: Nanos,
        is_charged: bool,
        now: Timestamp,
    ) -> bool {
        let has_room = self.watch.seats.has_room_for_asked(StoredSubjects::note_of(subject), &self.meters);
        if has_room && is_charged {
            self.watch.stored.note(subject, counts_for, &self.meters, now);
        }
        has_room
    }

    /// Whether more share a caller's home by now than its plan was made for: others sat down after it, and used what is
    /// theirs before it. A refusal under that plan says nothing.
    #[cold]
    pub(crate) fn has_grown(&self, watched: &mut Watched) -> bool {
        let grown = watched.seat.as_ref().and_then(|seated| self.watch.seats.grown(seated));
        watched.seat = grown.or(watched.seat);
        grown.is_some()
    }

    /// How many callers are blocked.
    pub fn blocks_now(&self) -> usize {
        self.watch.blocks.count(self.now())
    }

    /// Whether a caller is blocked, and for how long yet. Nobody else is asked.
    #[inline]
    pub(crate) fn blocked(&self, home: HomeId, sharer: Sharer, now: Timestamp) -> Option<Denial> {
        let until = self.watch.blocks.is_blocked(Blockable { home, sharer }, now)?;
        Counters::count(&self.counters.blocked);
        Some(Denial { retry_after: until.since(now), ..Denial::of(ErrorCode::Blocked) })
    }

    /// The plan that a caller is decided under, and the reputation that it is for. `sold` is what it bought.
    #[inline]
    pub(crate) fn plan_for(
        &self,
        sold: &Arc<Plan>,
        watched: &Watched,
        reputation: Option<Bucket>,
    ) -> Arc<Plan> {
        let bucket = reputation.filter(|_| watched.is_alone());
        if bucket.is_none() && watched.share == Percent::FULL && watched.is_alone() {
            return Arc::clone(sold);
        }
        self.sized(sold, watched, bucket)
    }

    #[cold]
    fn sized(&self, sold: &Arc<Plan>, watched: &Watched, bucket: Option<Bucket>) -> Arc<Plan> {
        let share = bucket.map_or(Percent::FULL, Bucket::share).and(watched.share);
        let size = Size { share, bucket, sharing: watched.sharing() };
        self.watch.plans.sized(sold, size, &self.meters)
    }

    /// The reputation that a caller probably has. Nothing where none is kept.
    #[inline]
    pub(crate) fn guess(&self, sold: &Plan, watched: &Watched) -> Option<Bucket> {
        let keeps = sold.tariff.keeps_reputation() && watched.is_alone();
        keeps.then(|| self.watch.standings.guess(watched.home, watched.sharer))
    }

    /// Notes which reputation a caller turned out to have.
    #[cold]
    pub(crate) fn learn(&self, watched: &Watched, bucket: Bucket) {
        self.watch.standings.learn(watched.home, watched.sharer, bucket);
    }

    /// What a refusal brings upon a caller that is watched: how long it is blocked, if it is.
    #[cold]
    pub(crate) fn held_against(
        &self,
        context: &RequestContext<'_>,
        watched: &Watched,
        plan: &ChargePlan<'_>,
        readings: &Readings,
    ) -> Option<Nanos> {
        if plan.mode != Mode::Charge {
            return None;
        }
        self.watch.touched.add(watched.home);
        let blocks = context.policy.policy().blocks.as_ref()?;
        let spent = ConductNow::of(plan, readings).strikes_left == Some(0);
        spent.then(|| self.block_earned(watched, blocks, context.now))
    }

    /// How a caller stood that was decided on.
    #[inline]
    pub(crate) fn stood(&self, watched: &Watched, reputation: Option<Bucket>) -> Standing {
        if let Some(bucket) = reputation {
            Counters::count(&self.counters.reputation[bucket as usize]);
        }
        watched.standing(reputation)
    }

    fn block_earned(&self, watched: &Watched, blocks: &Blocks, now: Timestamp) -> Nanos {
        let caller = Blockable { home: watched.home, sharer: watched.sharer };
        let block = self.watch.blocks.block(caller, now, blocks);
        block.until.since(now)
    }
}
