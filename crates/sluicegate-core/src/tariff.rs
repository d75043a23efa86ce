//! A tariff: a tier as one account has it, ready to turn requests into plans.
//!
//! Everything that does not change from request to request is settled here once: the limits in the order they
//! are asked, their numbers in the book, the calendars in the account's own zone and billing day. A request
//! only fills in who, what and when.

mod key_limits;
mod places;

use std::num::NonZeroU32;

use jiff::tz::TimeZone;

use crate::book::LimitId;
use crate::calendar::{BillingDay, PeriodMemo};
use crate::key_env::KeyEnv;
use crate::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use crate::plan::{Charge, ChargePlan, Due, Expects, HomeId, Mode, Sharer, SubjectClass};
use crate::policy::{Bucket, Bypass, Conduct, Percent, RefundOn, RouteIndex, Tier, TierName};
use crate::rule::concurrency::SlotId;
use crate::rule::{Amount, Rule};
use crate::time::{Nanos, Timestamp};
pub use key_limits::KeyLimitsDoNotFit;
pub use places::LimitPlaces;
use places::places_of;

/// What an account's calendar windows go by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountCalendar {
    /// The zone in which its days and months begin.
    pub zone: TimeZone,
    /// The day on which its billing months begin.
    pub billing_day: BillingDay,
}

impl Default for AccountCalendar {
    fn default() -> Self {
        Self { zone: TimeZone::UTC, billing_day: BillingDay::FIRST }
    }
}

/// Which of a request's charges a plan has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charges {
    /// All of them: a request that is decided on. With the caller's conduct, as long as it is not charged already.
    All,
    /// What a repeat of a request owes that was charged before: rates and slots, which protect the service, and nothing
    /// that is sold. With the caller's conduct, as above.
    Again,
    /// Only concurrency slots. With [`Mode::Refund`]: a request has finished, and what it used stays used.
    Slots,
    /// Everything but slots: usage that was recorded is counted again, or a cost turned out to be another.
    Amounts,
    /// The same without some of the limits: what a request cost in the end is none of their business.
    AmountsBut(LimitPlaces),
    /// All of them, as if the request counted as every route at once: to look at all meters of a caller.
    Everywhere,
    /// What is remembered of the caller's conduct, all of it. With [`Mode::Refund`]: it is forgiven.
    Conduct,
    /// One limit alone, whatever the route: its meter was found to be wrong, and is set right.
    One(LimitId),
}

/// One request, as far as limits care.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Where the caller's meters live.
    pub home: HomeId,
    /// The number of the caller's key among those of its account, tagged with its environment (see [`KeyEnv::tag`]); a
    /// caller without a key is alone in its home.
    pub key: Option<NonZeroU32>,
    /// The route, if one matched.
    pub route: Option<RouteIndex>,
    /// What it costs.
    pub cost: Amount,
    /// When.
    pub now: Timestamp,
    /// Whether to charge.
    pub mode: Mode,
    /// Which of its charges are meant.
    pub which: Charges,
    /// The id under which concurrency slots are taken.
    pub slot: SlotId,
}

/// A limit of a tariff.
#[derive(Debug)]
struct Line {
    limit: Limit,
    id: LimitId,
    /// The routes it counts; empty: every request.
    routes: Vec<RouteIndex>,
    period: PeriodMemo,
    /// The place in the tier; that of what is no limit of a tier is none of them.
    place: u8,
    /// What a refusal is charged there. Nothing: the line is one of the tier's, and charged with what a request costs.
    signal: Option<Amount>,
    /// A quota whose overage is billed, as test keys have it: it refuses.
    test: Option<Box<Limit>>,
}

/// A tier as one account has it.
#[derive(Debug)]
pub struct Tariff {
    lines: Vec<Line>,
    takes_slots: bool,
    /// The standing it was made for.
    expects: Option<Bucket>,
    /// The kind of subject that it is for.
    class: SubjectClass,
}

impl Tariff {
    /// The tariff of an account with this tier. `enter` gives limits their numbers in the book.
    pub fn new(tier: &Tier, calendar: &AccountCalendar, mut enter: impl FnMut(&Limit) -> LimitId) -> Self {
        let lines = places_of(tier).into_iter().zip(&tier.limits).map(|(place, entry)| {
            let mut limit = entry.limit.clone();
            if let Rule::Calendar { calendar: ours, .. } = &mut limit.rule {
                *ours = ours.for_account(calendar.zone.clone(), calendar.billing_day);
            }
            Line { place, ..Line::new(limit, entry.routes.clone(), None, &mut enter) }
        });
        Self::of(lines.collect(), SubjectClass::Account)
    }

    fn of(lines: Vec<Line>, class: SubjectClass) -> Self {
        let takes_slots = lines.iter().any(Line::takes_slots);
        Self { lines, takes_slots, expects: None, class }
    }

    /// What a request owes.
    #[inline]
    pub fn plan(&self, request: &Request) -> ChargePlan<'_> {
        let mut plan = ChargePlan::new(request.home, request.now, request.mode, request.slot);
        plan.class = self.class;
        let anywhere = matches!(request.which, Charges::Everywhere | Charges::One(_));
        let counts = |line: &&Line| line.counts(request.route) || anywhere;
        for line in self.lines.iter().filter(counts).filter(|line| line.is_in(request)) {
            plan.add(line.charge(request));
        }
        if self.expects.is_some() && matches!(request.which, Charges::All | Charges::Again) {
            plan.expects = self.expected(&plan);
        }
        plan
    }

    /// That the reputation is the one that this was made for, if the plan has it.
    #[cold]
    fn expected(&self, plan: &ChargePlan<'_>) -> Option<Expects> {
        let scores = self.expects?.scores();
        let is_reputation = |charge: &Charge<'_>| {
            charge.due == Due::Refusal && charge.limit.name.as_str() == LimitName::REPUTATION
        };
        let place = plan.charges().iter().rposition(is_reputation)?;
        Some(Expects { place, least: *scores.start(), most: *scores.end() })
    }

    /// The limits, in the order in which they are asked. What is remembered of the caller's conduct is none.
    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.lines.iter().filter(|line| line.signal.is_none()).map(|line| &line.limit)
    }

    /// The places of its limits of which this holds.
    pub fn places(&self, holds: impl Fn(&Limit) -> bool) -> LimitPlaces {
        let lines = self.lines.iter().filter(|line| line.signal.is_none() && holds(&line.limit));
        lines.fold(LimitPlaces::NONE, |places, line| places.and(LimitPlaces::one(line.place)))
    }

    /// The places of those of its limits that protect the service and are not sold.
    pub fn rates(&self) -> LimitPlaces {
        self.places(|limit| limit.axis != Axis::Quota)
    }

    /// The places of its limits whose meters do not hold what was charged under `then`, or not as this: `same` is told
    /// the rule and that of then. A limit that is new has never been charged at all.
    pub fn others_than(&self, then: &Self, same: impl Fn(&Rule, &Rule) -> bool) -> LimitPlaces {
        if std::ptr::eq(self, then) {
            return LimitPlaces::NONE;
        }
        self.places(|limit| {
            let charged = then.limits().find(|charged| charged.name == limit.name);
            !charged.is_some_and(|charged| charged.per == limit.per && same(&limit.rule, &charged.rule))
        })
    }

    /// How long the slots of its concurrency limits are held when nobody releases them.
    pub fn leases(&self) -> impl Iterator<Item = Nanos> {
        self.limits().filter_map(|limit| match limit.rule {
            Rule::Concurrency { lease, .. } => Some(lease),
            _ => None,
        })
    }

    /// The limits on some of the axes, each with another size, and what of the conduct is wanted as it is.
    fn resized(
        &self,
        size: impl Fn(&Limit) -> Limit,
        wanted: impl Fn(Axis) -> bool,
        mut enter: impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        let lines = self.lines.iter().filter(|line| wanted(line.limit.axis)).map(|line| {
            let limit = if line.signal.is_none() { size(&line.limit) } else { line.limit.clone() };
            Line { place: line.place, ..Line::new(limit, line.routes.clone(), line.signal, &mut enter) }
        });
        Self::of(lines.collect(), self.class)
    }

    /// Whether the reputation of its callers is kept.
    #[inline]
    pub fn keeps_reputation(&self) -> bool {
        // What is remembered of a caller comes behind its limits, the reputation first.
        self.lines.iter().rev().take(Conduct::METERS_MAX).any(|line| line.is_reputation())
    }

    /// Has refusals charged to these meters, and to no others.
    fn watch(&mut self, conduct: &Conduct, mut enter: impl FnMut(&Limit) -> LimitId) {
        self.lines.retain(|line| line.signal.is_none());
        let reputation = conduct.reputation.and_then(|reputation| {
            let rule = Rule::TokenBucket(reputation.meter().ok()?);
            Some((LimitName::REPUTATION, rule, Amount::new(reputation.penalty.into())?))
        });
        let strikes = conduct
            .blocks
            .map(|blocks| (LimitName::STRIKES, Rule::SlidingWindow(blocks.meter()), Amount::ONE));
        for (name, rule, cost) in reputation.into_iter().chain(strikes) {
            let Some(name) = LimitName::new(name) else { continue };
            let excess = Excess::Refuse(RefusalStatus::TooManyRequests);
            let limit = Limit { name, axis: Axis::Conduct, per: Per::Key, rule, excess, sold: None };
            self.lines.push(Line::new(limit, Vec::new(), Some(cost), &mut enter));
        }
    }

    /// The kind of subject that it is for.
    pub fn class(&self) -> SubjectClass {
        self.class
    }

    /// Whether every key has a quota of its own.
    pub fn has_quota_per_key(&self) -> bool {
        self.lines.iter().any(|line| line.limit.axis == Axis::Quota && line.limit.per == Per::Key)
    }

    /// Whether a request under it takes concurrency slots.
    #[inline]
    pub fn takes_slots(&self) -> bool {
        self.takes_slots
    }

    /// Whether anything is on this axis.
    pub fn has(&self, axis: Axis) -> bool {
        self.lines.iter().any(|line| line.limit.axis == axis)
    }
}

/// What an account bought: its tier, with the limits as the account has them.
#[derive(Debug)]
pub struct Plan {
    /// The name of the tier.
    pub name: TierName,
    /// The number that stands for the name in records.
    pub number: u32,
    /// The number under which decisions on it are counted; 0: together with others.
    pub series: u16,
    /// Under pressure the lowest is shed first.
    pub priority: u32,
    /// Whether its limits are asked at all.
    pub bypass: Bypass,
    /// When a finished request gets its quota back.
    pub refund_on: RefundOn,
    /// The limits.
    pub tariff: Tariff,
}

impl Plan {
    /// The plan of an account with this tier, whose name has this number. `enter` gives limits theirs in the book.
    pub fn new(
        tier: &Tier,
        calendar: &AccountCalendar,
        number: u32,
        enter: impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        Self {
            name: tier.name.clone(),
            number,
            series: 0,
            priority: tier.priority,
            bypass: tier.bypass,
            refund_on: tier.refund_on,
            tariff: Tariff::new(tier, calendar, enter),
        }
    }
}

impl Plan {
    /// The plan of a limit that belongs to no tier: it has one name for both.
    pub fn of_limit(limit: Limit, mut enter: impl FnMut(&Limit) -> LimitId) -> Self {
        let name = TierName::from(&limit.name);
        let lines = vec![Line::new(limit, Vec::new(), None, &mut enter)];
        Self {
            name,
            number: 0,
            series: 0,
            priority: 0,
            bypass: Bypass::No,
            refund_on: RefundOn::Nothing,
            tariff: Tariff::of(lines, SubjectClass::Asked),
        }
    }

    /// A plan without limits, for what was charged under one that does not exist any more.
    pub fn without_limits(name: TierName, number: u32) -> Self {
        Self {
            name,
            number,
            series: 0,
            priority: 0,
            bypass: Bypass::No,
            refund_on: RefundOn::Nothing,
            tariff: Tariff::of(Vec::new(), SubjectClass::Account),
        }
    }

    /// The same plan for subjects of this kind.
    #[must_use]
    pub fn for_class(mut self, class: SubjectClass) -> Self {
        self.tariff.class = class;
        self
    }

    /// The same plan, whose callers are watched: each refusal is charged to these meters.
    #[must_use]
    pub fn with_conduct(mut self, conduct: &Conduct, enter: impl FnMut(&Limit) -> LimitId) -> Self {
        self.tariff.watch(conduct, enter);
        self
    }

    /// The same plan, which is settled only for callers whose reputation is in this bucket.
    #[must_use]
    pub fn expecting(mut self, bucket: Bucket) -> Self {
        self.tariff.expects = Some(bucket);
        self
    }

    /// The same plan with a share of every limit. What is remembered of the caller's conduct stays as it is, and
    /// nothing is expected of it.
    #[must_use]
    pub fn squeezed(&self, share: Percent, enter: impl FnMut(&Limit) -> LimitId) -> Self {
        self.part(share, |_| true, enter)
    }

    /// The same plan for a home that so many callers share: with the limits of as many, of which each has a share. What
    /// one of them does is not held against the others.
    #[must_use]
    pub fn shared_by(&self, callers: u64, share: Percent, enter: impl FnMut(&Limit) -> LimitId) -> Self {
        let size = |limit: &Limit| limit.scaled(share).times(callers);
        self.resized(size, |axis| axis != Axis::Conduct, enter)
    }

    /// The same plan with the limits on some of the axes only, each with a share of its amount. What is remembered of
    /// the caller's conduct stays as it is, and nothing is expected of it.
    #[must_use]
    pub fn part(
        &self,
        share: Percent,
        wanted: impl Fn(Axis) -> bool,
        enter: impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        self.resized(|limit| limit.scaled(share), |axis| axis == Axis::Conduct || wanted(axis), enter)
    }

    fn resized(
        &self,
        size: impl Fn(&Limit) -> Limit,
        wanted: impl Fn(Axis) -> bool,
        enter: impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        Self { name: self.name.clone(), tariff: self.tariff.resized(size, wanted, enter), ..*self }
    }
}

impl Line {
    fn new(
        limit: Limit,
        routes: Vec<RouteIndex>,
        signal: Option<Amount>,
        enter: &mut impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        let (period, place) = (PeriodMemo::default(), u8::MAX);
        let test = limit.for_test_keys().map(Box::new);
        Self { id: enter(&limit), limit, routes, period, place, signal, test }
    }

    fn is_reputation(&self) -> bool {
        self.signal.is_some() && self.limit.name.as_str() == LimitName::REPUTATION
    }

    #[inline]
    fn counts(&self, route: Option<RouteIndex>) -> bool {
        self.routes.is_empty() || route.is_some_and(|route| self.routes.contains(&route))
    }

    #[inline]
    fn is_in(&self, request: &Request) -> bool {
        match request.which {
            Charges::All | Charges::Everywhere => {
                self.signal.is_none() || matches!(request.mode, Mode::Charge | Mode::Peek)
            }
            Charges::Again => match self.signal {
                None => self.limit.counts_repeats(),
                Some(_) => matches!(request.mode, Mode::Charge | Mode::Peek),
            },
            Charges::Conduct => self.signal.is_some(),
            _ if self.signal.is_some() => false,
            Charges::Slots => self.takes_slots(),
            Charges::Amounts => !self.takes_slots(),
            Charges::AmountsBut(limits) => !self.takes_slots() && !limits.contains(self.place),
            Charges::One(id) => self.id == id,
        }
    }

    /// By the rule and not by the axis: what must not be taken twice is the slot.
    fn takes_slots(&self) -> bool {
        matches!(self.limit.rule, Rule::Concurrency { .. })
    }

    #[inline]
    fn charge(&self, request: &Request) -> Charge<'_> {
        let (sharer, limit) = self.meter_of(request.key);
        let period = match &self.limit.rule {
            Rule::Calendar { calendar, .. } => Some(self.period.period(calendar, request.now)),
            _ => None,
        };
        let (due, cost) = match self.signal {
            None => (Due::Admission, request.cost),
            Some(_) if request.which == Charges::Conduct => (Due::Admission, request.cost),
            Some(cost) => (Due::Refusal, cost),
        };
        Charge { limit, id: self.id, sharer, cost, period, due }
    }

    /// Whose meter a caller is charged to, and under which limit. Quotas are sold, so those of test keys are apart: all
    /// test keys of an account share a pool of their own, and what goes beyond it is refused. Rates and slots protect
    /// the service from all keys alike.
    #[inline]
    fn meter_of(&self, key: Option<NonZeroU32>) -> (Sharer, &Limit) {
        let Some(key) = key else { return (Sharer::ALL, &self.limit) };
        let is_test = KeyEnv::of_tagged(key) == KeyEnv::Test;
        let is_apart = is_test && self.limit.axis == Axis::Quota && !self.takes_slots();
        let sharer = match (self.limit.per, is_apart) {
            (Per::Key | Per::Client, true) => Sharer::key(key),
            (Per::Key | Per::Client, false) => KeyEnv::untag(key).map_or(Sharer::ALL, Sharer::key),
            (Per::Account, true) => Sharer::TEST_KEYS,
            (Per::Account, false) => Sharer::ALL,
        };
        let limit = self.test.as_deref().filter(|_| is_test).unwrap_or(&self.limit);
        (sharer, limit)
    }
}
