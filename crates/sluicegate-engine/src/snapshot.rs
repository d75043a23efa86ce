//! A policy as requests see it: one value, swapped as a whole, with the plans that were made from it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sluicegate_core::file;
use sluicegate_core::file::Problem;
use sluicegate_core::plan::SubjectClass;
use sluicegate_core::policy::{Blocks, Conduct, LedgerSettings, Policy, RouteIndex, Tier, TierName};
use sluicegate_core::rule::TokenBucket;
use sluicegate_core::tariff::{AccountCalendar, Plan};
use sluicegate_core::time::Nanos;
use sluicegate_store::database::DatabaseError;
use sluicegate_store::directory::{PlanMemo, Standing, StoreError};
use sluicegate_store::meters::MeterTable;

use crate::engine::Counters;
use crate::names::Names;
use crate::pulse::{self, Kind};

/// A policy, its version, and what was resolved once for all of its requests.
pub struct PolicySnapshot {
    version: u64,
    policy: Policy,
    /// The numbers of the routes' names in ledger records.
    routes: Vec<u32>,
    /// The numbers under which decisions on them are counted.
    route_series: Vec<u16>,
    /// The same of tiers.
    tier_series: BTreeMap<TierName, u16>,
    /// What one IPv6 network may send: as much as so many addresses.
    network: Option<TokenBucket>,
    /// Plans that several accounts share. Negotiated ones are kept by their accounts alone.
    plans: Mutex<BTreeMap<PlanName, Arc<Plan>>>,
    /// The plan of callers without a key.
    anonymous: OnceLock<Option<Arc<Plan>>>,
    /// Those of callers without a key whom somebody has put into another tier.
    clients: Mutex<BTreeMap<TierName, Arc<Plan>>>,
}

/// What accounts have in common that share a plan.
type PlanName = (TierName, Option<String>, u8);

/// A /48 of IPv6 may send as much as this many of its /64s: it holds 65,536, and they may all be one caller's.
const NETWORK_ADDRESSES: u64 = 16;

/// Why a policy does not replace the one in force.
#[derive(Debug)]
pub enum ReloadError {
    /// What was negotiated with an account does not go with the new policy.
    Custom {
        /// Whose.
        account: String,
        /// What is wrong with it, under the new policy.
        problems: Vec<Problem>,
    },
    /// Its names could not be stored.
    Database(DatabaseError),
    /// What was negotiated with accounts could not be read.
    Directory(StoreError),
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Custom { account, problems } => {
                write!(f, "the negotiated limits of account {account} do not go with this policy")?;
                problems.first().map_or(Ok(()), |problem| write!(f, ": {}", problem.message))
            }
            Self::Database(error) => write!(f, "the names of tiers and routes could not be stored: {error}"),
            Self::Directory(error) => {
                write!(f, "what was negotiated with accounts could not be read: {error}")
            }
        }
    }
}

impl std::error::Error for ReloadError {}

/// How a standing became a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resolved {
    /// By its own tier.
    AsNamed,
    /// Its tier is not defined: the smallest applies.
    Smallest,
}

impl fmt::Debug for PolicySnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicySnapshot").field("version", &self.version).finish_non_exhaustive()
    }
}

impl PolicySnapshot {
    /// The policy under this version. Names that are new are stored.
    pub(crate) fn new(version: u64, policy: Policy, names: &Names) -> Result<Self, ReloadError> {
        let number = |name: &str| names.number(name).map_err(ReloadError::Database);
        let routes = policy.routes.iter().map(|(_, route)| number(&route.name)).collect::<Result<_, _>>()?;
        let rows = &names.rows;
        let route_series =
            policy.routes.iter().map(|(_, route)| rows.row(Kind::Route, &route.name)).collect();
        let mut tier_series = BTreeMap::new();
        for tier in &policy.tiers {
            number(tier.name.as_str())?;
            tier_series.insert(tier.name.clone(), rows.tier(&tier.name));
        }
        let network = policy.edge.map(|edge| edge.bucket.times(NETWORK_ADDRESSES));
        Ok(Self {
            version,
            policy,
            routes,
            route_series,
            tier_series,
            network,
            plans: Mutex::default(),
            anonymous: OnceLock::new(),
            clients: Mutex::default(),
        })
    }

    /// What one IPv6 network may send, where addresses are limited.
    pub(crate) fn network(&self) -> Option<&TokenBucket> {
        self.network.as_ref()
    }

    /// What is remembered of how callers behave.
    fn conduct(&self) -> Conduct {
        Conduct { reputation: self.policy.reputation, blocks: self.policy.blocks }
    }

    /// For how long a block is remembered after its end: the next one is longer until then.
    pub(crate) fn blocks_memory(&self) -> Nanos {
        self.policy.blocks.map_or(Blocks::MAX_DEFAULT, |blocks| blocks.max)
    }

    /// Counts up with every policy that came into force.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What the file says.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The number of a route's name in ledger records.
    pub(crate) fn route_number(&self, route: Option<RouteIndex>) -> u32 {
        route.and_then(|route| self.routes.get(usize::from(route.0))).copied().unwrap_or(0)
    }

    /// The number under which decisions on a route are counted.
    #[inline]
    pub(crate) fn route_series(&self, route: Option<RouteIndex>) -> u16 {
        route.and_then(|route| self.route_series.get(usize::from(route.0))).copied().unwrap_or(pulse::NONE)
    }

    /// The number under which decisions on a tier are counted. Negotiated ones are not told apart.
    fn tier_series(&self, tier: &TierName, names: &Names) -> u16 {
        self.tier_series.get(tier).copied().unwrap_or_else(|| names.rows.tier(tier))
    }

    /// The route whose name has this number.
    pub(crate) fn route_of_number(&self, number: u32) -> Option<RouteIndex> {
        let place = self.routes.iter().position(|route| *route == number)?;
        u16::try_from(place).ok().map(RouteIndex)
    }

    /// The plan of an account, from the memo of its standing if that was made under this policy. Nothing if the
    /// policy has no tier that it could have.
    #[inline]
    pub(crate) fn plan_of(
        &self,
        standing: &Standing,
        meters: &MeterTable,
        names: &Names,
        counters: &Counters,
    ) -> Option<Arc<Plan>> {
        if let Some(memo) = &*standing.memo.load()
            && memo.policy == self.version
        {
            return Some(Arc::clone(&memo.plan));
        }
        let (plan, resolved) = self.resolve(standing, meters, names)?;
        if resolved == Resolved::Smallest {
            Counters::count(&counters.unknown_tier);
        }
        standing.memo.store(Some(Arc::new(PlanMemo { policy: self.version, plan: Arc::clone(&plan) })));
        Some(plan)
    }

    /// The plan of an account, made anew or shared with others.
    #[cold]
    pub(crate) fn resolve(
        &self,
        standing: &Standing,
        meters: &MeterTable,
        names: &Names,
    ) -> Option<(Arc<Plan>, Resolved)> {
        let make = |tier: &Tier| {
            // A name that cannot be stored now is stored with the next reload; until then records name no tier.
            let number = names.number(tier.name.as_str()).unwrap_or(0);
            let mut plan = Plan::new(tier, &standing.calendar, number, |limit| meters.enter(limit));
            plan.series = self.tier_series(&tier.name, names);
            Arc::new(plan.with_conduct(&self.conduct().for_keys(), |limit| meters.enter(limit)))
        };
        if let Some(body) = &standing.custom
            && let Ok(tier) = file::read_tier(body.as_bytes(), &standing.tier, &self.policy.routes)
        {
            return Some((make(&tier), Resolved::AsNamed));
        }
        let named = self.policy.tiers.get(standing.tier.as_str());
        let resolved = if named.is_some() { Resolved::AsNamed } else { Resolved::Smallest };
        let tier = named.or_else(|| self.policy.tiers.smallest())?;
        let name = shared_name(tier, &standing.calendar);
        let plan = Arc::clone(self.plans.lock().entry(name).or_insert_with(|| make(tier)));
        Some((plan, resolved))
    }

    /// The plan that an account would have with this standing, to be peeked at only: nothing is stored for it, neither
    /// names nor limits.
    #[cold]
    pub(crate) fn preview(&self, standing: &Standing, meters: &MeterTable, names: &Names) -> Option<Plan> {
        let custom = standing
            .custom
            .as_ref()
            .and_then(|body| file::read_tier(body.as_bytes(), &standing.tier, &self.policy.routes).ok());
        let named = || self.policy.tiers.get(standing.tier.as_str());
        let tier = custom.as_ref().or_else(named).or_else(|| self.policy.tiers.smallest())?;
        let number = names.find(tier.name.as_str()).unwrap_or(0);
        let plan = Plan::new(tier, &standing.calendar, number, |limit| meters.find(limit));
        Some(plan.with_conduct(&self.conduct().for_keys(), |limit| meters.find(limit)))
    }

    /// The plan of callers without a key, if they are served. It is not shared with accounts of the same tier: what is
    /// remembered of the callers may be more.
    pub(crate) fn anonymous_plan(&self, meters: &MeterTable, names: &Names) -> Option<Arc<Plan>> {
        let tier = || self.policy.tiers.get(self.policy.identity.anonymous.as_ref()?.as_str());
        let make = || Some(self.make_client_plan(tier()?, SubjectClass::Client, meters, names));
        self.anonymous.get_or_init(make).clone()
    }

    /// The plan of callers whom a front end has put into this tier. If there is none of that name, the smallest
    /// holds. It is not shared with callers without a key, for there are bounds of their own for both.
    pub(crate) fn client_plan(
        &self,
        tier: &str,
        meters: &MeterTable,
        names: &Names,
        counters: &Counters,
    ) -> Option<Arc<Plan>> {
        let named = self.policy.tiers.get(tier);
        if named.is_none() {
            Counters::count(&counters.unknown_tier);
        }
        let tier = named.or_else(|| self.policy.tiers.smallest())?;
        let mut plans = self.clients.lock();
        let make = || self.make_client_plan(tier, SubjectClass::Asked, meters, names);
        Some(Arc::clone(plans.entry(tier.name.clone()).or_insert_with(make)))
    }

    /// The plan of callers without an account whose records have the number of this tier.
    pub(crate) fn client_plan_of_number(
        &self,
        tier: u32,
        meters: &MeterTable,
        names: &Names,
    ) -> Option<Arc<Plan>> {
        let anonymous = self.anonymous_plan(meters, names);
        if anonymous.as_ref().is_some_and(|plan| plan.number == tier) {
            return anonymous;
        }
        let named = names.name(tier).filter(|name| self.policy.tiers.get(name).is_some());
        match named {
            Some(name) => self.client_plan(&name, meters, names, &Counters::default()),
            None => anonymous,
        }
    }

    fn make_client_plan(
        &self,
        tier: &Tier,
        class: SubjectClass,
        meters: &MeterTable,
        names: &Names,
    ) -> Arc<Plan> {
        let number = names.number(tier.name.as_str()).unwrap_or(0);
        let mut plan = Plan::new(tier, &AccountCalendar::default(), number, |limit| meters.enter(limit));
        plan.series = self.tier_series(&tier.name, names);
        Arc::new(plan.with_conduct(&self.conduct(), |limit| meters.enter(limit)).for_class(class))
    }

    /// Whether what was negotiated with an account goes with this policy.
    pub(crate) fn check_custom(&self, account: &str, standing: &Standing) -> Result<(), ReloadError> {
        let Some(body) = &standing.custom else { return Ok(()) };
        match file::read_tier(body.as_bytes(), &standing.tier, &self.policy.routes) {
            Ok(tier) => {
                let needed = LedgerSettings::raw_needed(tier.limits.iter().map(|entry| &entry.limit));
                if needed > self.policy.ledger.raw {
                    tracing::warn!(
                        account,
                        raw_days = days(self.policy.ledger.raw),
                        needed_days = days(needed),
                        "`ledger.raw` is too short for the negotiated quota of an account: its longest window and 3 \
                         days; records are kept for that long all the same"
                    );
                }
                Ok(())
            }
            Err(problems) => Err(ReloadError::Custom { account: account.to_owned(), problems }),
        }
    }

    /// Whether what was negotiated with accounts has to be looked at, because the policy before was another in what it
    /// depends on.
    pub(crate) fn may_concern_custom(&self, before: &Policy) -> bool {
        self.policy.routes != before.routes || self.policy.ledger.raw < before.ledger.raw
    }
}

/// Whole days, rounded up.
fn days(duration: Nanos) -> u64 {
    duration.0.div_ceil(86_400_000_000_000)
}

fn shared_name(tier: &Tier, calendar: &AccountCalendar) -> PlanName {
    (tier.name.clone(), calendar.zone.iana_name().map(str::to_owned), calendar.billing_day.get())
}
