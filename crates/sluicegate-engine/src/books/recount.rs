//! Quotas counted once more, from the records, into meters that nobody asks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::book::LimitId;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::{Axis, LimitName, Per};
use sluicegate_core::plan::{ChargePlan, Due, HomeId};
use sluicegate_core::policy::LedgerSettings;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::{BilledPrint, Kind, Position, Record, Spool};
use sluicegate_store::meters::MeterTable;

use super::billed::{PoolCount, Pools};
use super::error::CompareError;
use super::given_back::{GivenBack, Taken, has_periods};
use crate::clock::STEP_MAX;
use crate::look::look_everywhere;
use crate::settlement::{charges_of, mode_of};
use crate::snapshot::PolicySnapshot;

/// How often it is waited for somebody who is in the middle of an append, each time for up to a second.
const WAITS_MAX: u32 = 10;

/// An account whose quotas are counted.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) id: String,
    pub(super) home: HomeId,
    pub(super) plan: Arc<Plan>,
    /// The keys that it used, by their numbers.
    pub(super) keys: BTreeSet<NonZeroU32>,
}

/// Accounts by their serials.
pub(super) type Accounts = BTreeMap<u64, Counted>;

/// One quota of an account, or of one of its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Quota {
    pub(super) account: u64,
    pub(super) key: Option<NonZeroU32>,
    pub(super) name: LimitName,
    pub(super) id: LimitId,
    pub(super) measure: Measure,
}

/// What is compared of a quota.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Measure {
    /// What was used.
    Used,
    /// The overage of the period, where it is billed.
    Overage,
    /// The overage of the period that was recorded, beside what the rule says.
    Billed,
    /// What was used, all of it under this billed quota: for other nodes.
    BilledUnder(BilledPrint),
    /// That it cannot be told under which billed quota: for other nodes.
    BilledUnclear,
}

impl Measure {
    /// Whether it is compared with anything. What is only for other nodes is not.
    pub const fn is_compared(self) -> bool {
        matches!(self, Self::Used | Self::Overage | Self::Billed)
    }
}

impl Quota {
    /// What it is called where its records are compared: `quota`, `quota:overage` or `quota:billed`.
    pub(super) fn label(&self) -> String {
        match self.measure {
            Measure::Used => self.name.to_string(),
            Measure::Overage => format!("{}:overage", self.name),
            Measure::Billed => format!("{}:billed", self.name),
            Measure::BilledUnder(print) => format!("{}:billed:{}", self.name, print.to_bits()),
            Measure::BilledUnclear => format!("{}:billed:unclear", self.name),
        }
    }
}

/// What quotas have used, and how much of it is overage.
pub(super) type Used = BTreeMap<Quota, i128>;

/// Quotas counted once more.
pub(super) struct Shadow<'s> {
    policy: &'s PolicySnapshot,
    pub(super) accounts: &'s Accounts,
    meters: MeterTable,
    /// What was recorded for an account later than this comes from a clock that was wrong, and counts in no period of
    /// now.
    latest: BTreeMap<u64, Timestamp>,
    /// What was recorded for an account before this counts in none of its quotas. A clock that was set back may have
    /// recorded it after what does.
    oldest: BTreeMap<u64, Timestamp>,
    /// When the periods of now began, of accounts whose quotas all have periods.
    begun: BTreeMap<u64, Timestamp>,
    /// Those of which something was counted in a period of now.
    current: RefCell<BTreeSet<u64>>,
    /// Of accounts whose overage is billed: whose the quota is, and when its period began.
    billed: BTreeMap<u64, (Per, Timestamp)>,
    /// The overage of that period, by account and, where each key has a quota of its own, key.
    overage: RefCell<BTreeMap<(u64, Option<NonZeroU32>), i128>>,
    /// The same records beside the rule of overage.
    pools: RefCell<Pools>,
    /// Accounts of which not all records of the period are counted, or not all are told to the shared store.
    unclear: RefCell<BTreeSet<u64>>,
    /// What was given back, where nodes share the meters.
    pub(super) given_back: RefCell<GivenBack>,
}

/// The recorded overage of an account in one period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PeriodOverage {
    /// When the period began.
    start: Timestamp,
    /// By key where each key has a quota of its own.
    amounts: Vec<(Option<NonZeroU32>, i128)>,
    /// Nothing where it cannot be told what the rule says.
    pools: Option<Pools>,
}

impl<'s> Shadow<'s> {
    /// With the limits of `live` under the same numbers.
    pub(super) fn beside(
        live: &MeterTable,
        policy: &'s PolicySnapshot,
        accounts: &'s Accounts,
        now: Timestamp,
    ) -> Result<Self, CompareError> {
        let billed = accounts.iter().filter_map(|(serial, account)| {
            let limit = account.plan.tariff.limits().find(|limit| limit.included().is_some())?;
            Some((*serial, (limit.per, period_start(&limit.rule, now))))
        });
        let (billed, overage, given_back) = (billed.collect(), RefCell::default(), RefCell::default());
        let meters = empty_beside(live)?;
        let latest =
            accounts.iter().map(|(serial, account)| (*serial, latest_counted(account, now))).collect();
        let oldest =
            accounts.iter().map(|(serial, account)| (*serial, oldest_counted(account, now))).collect();
        let begun = accounts.iter().filter_map(|(serial, account)| Some((*serial, begun(account, now)?)));
        let (begun, current) = (begun.collect(), RefCell::default());
        let (pools, unclear) = (RefCell::default(), RefCell::default());
        Ok(Self {
            policy,
            accounts,
            meters,
            latest,
            oldest,
            begun,
            current,
            billed,
            overage,
            pools,
            unclear,
            given_back,
        })
    }

    /// Counts a record, if it is one of theirs.
    pub(super) fn count(&self, record: &Record) {
        let Some(account) = self.accounts.get(&record.account) else { return };
        let is_old = self.oldest.get(&record.account).is_some_and(|oldest| record.at < *oldest);
        let is_ahead =
            self.latest.get(&record.account).is_some_and(|it| record.at.max(record.charged_at) > *it);
        if is_old || is_ahead || self.is_set_back(record) {
            return;
        }
        self.count_overage(record);
        let Some(cost) = Amount::new(record.cost) else { return self.count_billed(record, 0) };
        let limits = &account.plan.tariff;
        let which = match charges_of(record, limits) {
            Charges::AmountsBut(skipped) => Charges::AmountsBut(skipped.and(limits.rates())),
            which => which,
        };
        let request = Request {
            home: account.home,
            key: record.tagged_key_number(),
            route: self.policy.route_of_number(record.route),
            cost,
            now: record.at,
            mode: mode_of(record),
            which,
            slot: SlotId(0),
        };
        let plan = limits.plan(&request);
        let mut charges = plan.charges().iter().filter(|charge| charge.due == Due::Admission);
        let billed = charges.find(|charge| charge.limit.included().is_some());
        self.count_billed(record, billed.map_or(0, |charge| charge.cost.get()));
        if self.given_back.borrow_mut().take(record, &plan) == Taken::No {
            self.meters.settle(&plan, &mut Readings::new());
        }
    }

    /// Whether a charge was made in an earlier period, after others in a period of now: under a clock that was set
    /// back. A meter that has counted those stays in their period.
    fn is_set_back(&self, record: &Record) -> bool {
        let Some(begun) = self.begun.get(&record.account) else { return false };
        if record.at >= *begun {
            self.current.borrow_mut().insert(record.account);
            return false;
        }
        record.kind == Kind::Charge && self.current.borrow().contains(&record.account)
    }

    fn count_overage(&self, record: &Record) {
        let Some((per, start)) = self.billed.get(&record.account) else { return };
        if record.overage == 0 || record.charged_at < *start {
            return;
        }
        let key = record.tagged_key_number().filter(|_| *per != Per::Account);
        let overage = i128::from(record.overage);
        *self.overage.borrow_mut().entry((record.account, key)).or_default() += match record.kind {
            Kind::Charge | Kind::Correction => overage,
            Kind::Refund => -overage,
        };
    }

    /// Counts a record beside the rule of overage: so much of its cost was of the billed quota.
    fn count_billed(&self, record: &Record, cost: u64) {
        let Some((per, start)) = self.billed.get(&record.account) else { return };
        if record.charged_at >= *start {
            let key = record.tagged_key_number().filter(|_| *per != Per::Account);
            PoolCount::count(&mut self.pools.borrow_mut(), (record.account, key), record, cost);
        }
    }

    /// It cannot be told what the rule of overage says of this account.
    pub(super) fn leave_unclear(&self, serial: u64) {
        self.unclear.borrow_mut().insert(serial);
    }

    /// What the records say beside the rule of overage, of accounts of which all are counted.
    pub(super) fn pools(&self) -> Pools {
        let (pools, unclear) = (self.pools.borrow(), self.unclear.borrow());
        let clear = pools.iter().filter(|((account, _), _)| !unclear.contains(account));
        clear.map(|(pool, count)| (*pool, count.clone())).collect()
    }

    /// What one account has used, as bytes.
    pub(super) fn image(&self, home: HomeId, now: Timestamp) -> Vec<u8> {
        let mut image = Vec::new();
        self.meters.image_of(home, now, &mut image, || ());
        image
    }

    /// Puts back what one account has used.
    pub(super) fn restore(&self, home: HomeId, image: &[u8]) -> Result<(), CompareError> {
        if !image.is_empty() {
            self.meters.restore(home, image)?;
        }
        Ok(())
    }

    /// The recorded overage of an account, where it is billed.
    pub(super) fn overage_of(&self, serial: u64) -> Option<PeriodOverage> {
        let (_, start) = *self.billed.get(&serial)?;
        let overage = self.overage.borrow();
        let amounts = overage.iter().filter(|((account, _), _)| *account == serial);
        let amounts = amounts.map(|((_, key), amount)| (*key, *amount)).collect();
        let is_clear = !self.unclear.borrow().contains(&serial);
        let pools = self.pools.borrow();
        let pools =
            pools.range((serial, None::<NonZeroU32>)..).take_while(|((account, _), _)| *account == serial);
        let pools = is_clear.then(|| pools.map(|(pool, count)| (*pool, count.clone())).collect());
        Some(PeriodOverage { start, amounts, pools })
    }

    /// Puts back the recorded overage of an account, unless another period has begun since.
    pub(super) fn restore_overage(&self, serial: u64, counted: &PeriodOverage) {
        if self.billed.get(&serial).is_some_and(|(_, start)| *start == counted.start) {
            let amounts = counted.amounts.iter().map(|(key, amount)| ((serial, *key), *amount));
            self.overage.borrow_mut().extend(amounts);
            match &counted.pools {
                Some(pools) => self.pools.borrow_mut().extend(pools.clone()),
                None => self.leave_unclear(serial),
            }
        }
    }

    /// Takes the overage of these accounts from what their meters say.
    pub(super) fn adopt_overage(&self, meters: &Used, accounts: &BTreeSet<u64>) {
        let theirs = meters.iter().filter(|(quota, _)| accounts.contains(&quota.account));
        let overage = theirs.filter(|(quota, _)| quota.measure == Measure::Overage);
        self.overage
            .borrow_mut()
            .extend(overage.map(|(quota, amount)| ((quota.account, quota.key), *amount)));
    }

    /// What they have used, and the overage that was recorded.
    pub(super) fn used(&self, now: Timestamp) -> Used {
        let mut used = used(&self.meters, self.accounts, now);
        let (overage, given_back) = (self.overage.borrow(), self.given_back.borrow());
        for (quota, amount) in &mut used {
            match quota.measure {
                Measure::Overage => {
                    *amount = overage.get(&(quota.account, quota.key)).copied().unwrap_or(0);
                }
                Measure::Used => {
                    let limits =
                        self.accounts.get(&quota.account).map(|account| account.plan.tariff.limits());
                    let limit = limits.and_then(|mut limits| limits.find(|limit| limit.name == quota.name));
                    *amount -= limit.map_or(0, |limit| given_back.of(quota, limit, now));
                }
                Measure::Billed | Measure::BilledUnder(_) | Measure::BilledUnclear => {}
            }
        }
        used
    }
}

/// A table without meters, with the limits of another under the same numbers.
pub(super) fn empty_beside(live: &MeterTable) -> Result<MeterTable, CompareError> {
    let images = live.book_images_from(0);
    Ok(MeterTable::with_book(images.into_iter().map(|(_, image)| image))?)
}

/// What meters say that quotas have used.
pub(super) fn used(meters: &MeterTable, accounts: &Accounts, now: Timestamp) -> Used {
    let mut used = Used::new();
    for (serial, account) in accounts {
        for (key, wanted) in looks(account) {
            let plan = account.plan.tariff.plan(&look(account, key, now));
            let mut readings = Readings::new();
            meters.settle(&plan, &mut readings);
            let amounts = readings.iter().map(|reading| (reading.used, reading.overage));
            used.extend(quotas(*serial, key, wanted, &plan, amounts));
        }
    }
    used
}

/// Whose meters of an account have to be looked at: all live keys', all test keys', and each one's own.
pub(super) fn looks(account: &Counted) -> impl Iterator<Item = (Option<NonZeroU32>, fn(Per) -> bool)> + '_ {
    let shared: fn(Per) -> bool = |per| per == Per::Account;
    let own: fn(Per) -> bool = |per| per != Per::Account;
    let has_test_keys = account.keys.iter().any(|key| KeyEnv::of_tagged(*key) == KeyEnv::Test);
    let test = has_test_keys.then_some((Some(KeyEnv::TEST_KEYS), shared));
    let keys = account.keys.iter().filter(|key| KeyEnv::untag(**key).is_some());
    std::iter::once((None, shared)).chain(test).chain(keys.map(move |key| (Some(*key), own)))
}

/// Looks at every meter of an account.
pub(super) fn look(account: &Counted, key: Option<NonZeroU32>, now: Timestamp) -> Request {
    look_everywhere(account.home, key, now)
}

/// When the period of a quota began that is billed.
fn period_start(rule: &Rule, now: Timestamp) -> Timestamp {
    match rule {
        Rule::Calendar { calendar, .. } => calendar.period_at(now).start,
        Rule::FixedWindow(windowed) => windowed.aligned(now).start,
        _ => now,
    }
}

/// The first instant that a quota of an account counts at `now`, and a margin: what is corrected in the first days of a
/// period was charged in the one before.
fn oldest_counted(account: &Counted, now: Timestamp) -> Timestamp {
    let quotas = account.plan.tariff.limits().filter(|limit| is_quota(limit.axis, &limit.rule));
    let starts = quotas.map(|limit| match &limit.rule {
        Rule::Calendar { .. } | Rule::FixedWindow(_) => period_start(&limit.rule, now),
        rule => earlier(now, rule.counts_for()),
    });
    earlier(starts.min().unwrap_or(Timestamp::EPOCH), LedgerSettings::RAW_MARGIN)
}

/// The last instant that counts at `now`. A clock that was set back may have recorded later in the periods of now.
fn latest_counted(account: &Counted, now: Timestamp) -> Timestamp {
    let quotas = account.plan.tariff.limits().filter(|limit| is_quota(limit.axis, &limit.rule));
    let ends = quotas.map(|limit| match &limit.rule {
        Rule::Calendar { calendar, .. } => Some(calendar.period_at(now).end),
        Rule::FixedWindow(windowed) => Some(windowed.aligned(now).end),
        _ => None,
    });
    let end = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().min());
    end.map_or(Timestamp::EPOCH, |end| earlier(end, Nanos(1))).max(now.plus(STEP_MAX))
}

/// When the first of the periods of now began. Nothing where a quota has none.
fn begun(account: &Counted, now: Timestamp) -> Option<Timestamp> {
    let quotas = account.plan.tariff.limits().filter(|limit| is_quota(limit.axis, &limit.rule));
    let starts = quotas.map(|limit| has_periods(&limit.rule).then(|| period_start(&limit.rule, now)));
    starts.collect::<Option<Vec<_>>>()?.into_iter().min()
}

fn earlier(at: Timestamp, by: Nanos) -> Timestamp {
    Timestamp::from_nanos(at.as_nanos().saturating_sub(by.0))
}

/// The quotas of a plan that was looked at, each with what was used and, where it is billed, its overage.
pub(super) fn quotas<'p>(
    account: u64,
    key: Option<NonZeroU32>,
    wanted: fn(Per) -> bool,
    plan: &'p ChargePlan<'_>,
    amounts: impl Iterator<Item = (u64, u64)> + 'p,
) -> impl Iterator<Item = (Quota, i128)> + 'p {
    let limits = plan.charges().iter().filter(|charge| charge.due == Due::Admission);
    limits
        .zip(amounts)
        .filter(move |(charge, _)| {
            is_quota(charge.limit.axis, &charge.limit.rule) && wanted(charge.limit.per)
        })
        .flat_map(move |(charge, (used, overage))| {
            let quota =
                |measure| Quota { account, key, name: charge.limit.name.clone(), id: charge.id, measure };
            let billed = charge.limit.included().map(|_| (quota(Measure::Overage), i128::from(overage)));
            [Some((quota(Measure::Used), i128::from(used))), billed].into_iter().flatten()
        })
}

/// Whether a limit counts what was used: slots are no usage.
pub(super) fn is_quota(axis: Axis, rule: &Rule) -> bool {
    axis == Axis::Quota && !matches!(rule, Rule::Concurrency { .. })
}

/// Reads all records in a part of the spool, and waits for those that are on their way into it.
pub(super) fn read_all(
    spool: &Spool,
    from: Position,
    until: Position,
    mut each: impl FnMut(Position, &Record),
) -> Result<(), CompareError> {
    let mut next = spool.read_until(from, until, &mut each)?.next;
    for _ in 0..WAITS_MAX {
        if next >= until {
            return Ok(());
        }
        // It waits for whoever is in the middle of an append; what is not on disk then is read all the same.
        let _ = spool.flush();
        next = spool.read_until(next, until, &mut each)?.next;
    }
    if next >= until { Ok(()) } else { Err(CompareError::Stalled) }
}
