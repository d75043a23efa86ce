//! A tariff: a tier as one account has it, ready to turn requests into plans.
//!
//! Everything that does not change from request to request is settled here once: the limits in the order they
//! are asked, their numbers in the book, the calendars in the account's own zone and billing day. A request
//! only fills in who, what and when.

use std::num::NonZeroU32;

use jiff::tz::TimeZone;

use crate::book::LimitId;
use crate::calendar::{BillingDay, PeriodMemo};
use crate::limit::{Axis, Limit, Per};
use crate::plan::{Charge, ChargePlan, HomeId, Mode, Sharer};
use crate::policy::{Bypass, Percent, RefundOn, RouteIndex, Tier, TierName};
use crate::rule::concurrency::SlotId;
use crate::rule::{Amount, Rule};
use crate::time::{Nanos, Timestamp};

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
    /// All of them: a request that is decided on.
    All,
    /// Only concurrency slots. With [`Mode::Refund`]: a request has finished, and what it used stays used.
    Slots,
    /// Everything but slots: usage that was recorded is counted again, or a cost turned out to be another.
    Amounts,
    /// All of them, as if the request counted as every route at once: to look at all meters of a caller.
    Everywhere,
    /// Only quotas: usage that was admitted elsewhere is counted where it belongs. No rate suffers from what is past.
    Quotas,
}

/// One request, as far as limits care.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Where the caller's meters live.
    pub home: HomeId,
    /// The number of the caller's key among those of its account; a caller without a key is alone in its home.
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
}

/// A tier as one account has it.
#[derive(Debug)]
pub struct Tariff {
    lines: Vec<Line>,
}

impl Tariff {
    /// The tariff of an account with this tier. `enter` gives limits their numbers in the book.
    pub fn new(tier: &Tier, calendar: &AccountCalendar, mut enter: impl FnMut(&Limit) -> LimitId) -> Self {
        let lines = tier.limits.iter().map(|entry| {
            let mut limit = entry.limit.clone();
            if let Rule::Calendar { calendar: ours, .. } = &mut limit.rule {
                *ours = ours.for_account(calendar.zone.clone(), calendar.billing_day);
            }
            Line { id: enter(&limit), limit, routes: entry.routes.clone(), period: PeriodMemo::default() }
        });
        Self { lines: lines.collect() }
    }

    /// What a request owes.
    #[inline]
    pub fn plan(&self, request: &Request) -> ChargePlan<'_> {
        let mut plan = ChargePlan::new(request.home, request.now, request.mode, request.slot);
        let counts = |line: &&Line| line.counts(request.route) || request.which == Charges::Everywhere;
        for line in self.lines.iter().filter(counts).filter(|line| line.is_in(request.which)) {
            plan.add(line.charge(request));
        }
        plan
    }

    /// The limits, in the order in which they are asked.
    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.lines.iter().map(|line| &line.limit)
    }

    /// How long the slots of its concurrency limits are held when nobody releases them.
    pub fn leases(&self) -> impl Iterator<Item = Nanos> {
        self.limits().filter_map(|limit| match limit.rule {
            Rule::Concurrency { lease, .. } => Some(lease),
            _ => None,
        })
    }

    /// The limits on some of the axes, each with a share of its amount.
    fn part(
        &self,
        share: Percent,
        wanted: impl Fn(Axis) -> bool,
        mut enter: impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        let lines = self.lines.iter().filter(|line| wanted(line.limit.axis)).map(|line| {
            let limit = Limit { rule: line.limit.rule.scaled(share), ..line.limit.clone() };
            Line { id: enter(&limit), limit, routes: line.routes.clone(), period: PeriodMemo::default() }
        });
        Self { lines: lines.collect() }
    }

    /// Whether any limit is on this axis.
    pub fn has(&self, axis: Axis) -> bool {
        self.limits().any(|limit| limit.axis == axis)
    }
}

/// What an account bought: its tier, with the limits as the account has them.
#[derive(Debug)]
pub struct Plan {
    /// The name of the tier.
    pub name: TierName,
    /// The number that stands for the name in records.
    pub number: u32,
    /// Under pressure the lowest is shed first.
    pub priority: u32,
    /// Whether its limits are asked at all.
    pub bypass: Bypass,
    /// When a finished request gets its charge back.
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
            priority: tier.priority,
            bypass: tier.bypass,
            refund_on: tier.refund_on,
            tariff: Tariff::new(tier, calendar, enter),
        }
    }
}

impl Plan {
    /// The same plan with the limits on some of the axes only, each with a share of its amount.
    pub fn part(
        &self,
        share: Percent,
        wanted: impl Fn(Axis) -> bool,
        enter: impl FnMut(&Limit) -> LimitId,
    ) -> Self {
        Self { name: self.name.clone(), tariff: self.tariff.part(share, wanted, enter), ..*self }
    }
}

impl Line {
    #[inline]
    fn counts(&self, route: Option<RouteIndex>) -> bool {
        self.routes.is_empty() || route.is_some_and(|route| self.routes.contains(&route))
    }

    #[inline]
    fn is_in(&self, which: Charges) -> bool {
        match which {
            Charges::All | Charges::Everywhere => true,
            Charges::Slots => self.takes_slots(),
            Charges::Amounts => !self.takes_slots(),
            Charges::Quotas => self.limit.axis == Axis::Quota && !self.takes_slots(),
        }
    }

    /// By the rule and not by the axis: what must not be taken twice is the slot.
    fn takes_slots(&self) -> bool {
        matches!(self.limit.rule, Rule::Concurrency { .. })
    }

    #[inline]
    fn charge(&self, request: &Request) -> Charge<'_> {
        let sharer = match (self.limit.per, request.key) {
            (Per::Key | Per::Client, Some(key)) => Sharer::key(key),
            (Per::Key | Per::Client, None) | (Per::Account, _) => Sharer::ALL,
        };
        let period = match &self.limit.rule {
            Rule::Calendar { calendar, .. } => Some(self.period.period(calendar, request.now)),
            _ => None,
        };
        Charge { limit: &self.limit, id: self.id, sharer, cost: request.cost, period }
    }
}
