//! Sluicegate: a rate and a quota per caller, settled together in the meter table.

use std::num::NonZeroU32;

use crate::callers::Callers;
use crate::contestant::Contestant;
use anyhow::{Context as _, Result, anyhow};
use sluicegate_core::book::LimitId;
use sluicegate_core::calendar::{Calendar, CalendarUnit, PeriodMemo};
use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::{Timestamp, Window};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::meters::MeterTable;

/// What the benchmark's clock is counted from: calendars want a date.
const START_NS: u64 = 1_790_000_000_000_000_000;

/// The meter table, and the two limits of every caller.
pub(crate) struct Ours {
    table: MeterTable,
    hasher: HomeHasher,
    calendar: Calendar,
    month: PeriodMemo,
    rate: (Limit, LimitId),
    quota: (Limit, LimitId),
}

impl Contestant for Ours {
    const NAME: &'static str = "sluicegate";

    type Now = u64;

    type Lane = Readings;

    fn build(_callers: Callers) -> Result<Self> {
        let table = MeterTable::new();
        let bucket = TokenBucket::new(1_000_000, Window::SECOND, TokenBucket::BURST_MAX);
        let bucket = bucket.map_err(|bad| anyhow!("no token bucket: {bad:?}"))?;
        let rate = limit(LimitName::RATE, Axis::Rate, Per::Key, Rule::TokenBucket(bucket))?;
        let calendar = Calendar::utc(CalendarUnit::Month);
        let most = Amount::new(Amount::MAX).context("the largest amount is one")?;
        let month = Rule::Calendar { limit: most, calendar: calendar.clone() };
        let quota = limit(LimitName::QUOTA, Axis::Quota, Per::Account, month)?;
        let (rate_id, quota_id) = (table.enter(&rate), table.enter(&quota));
        Ok(Self {
            table,
            hasher: HomeHasher::new([7; 16]),
            calendar,
            month: PeriodMemo::default(),
            rate: (rate, rate_id),
            quota: (quota, quota_id),
        })
    }

    fn lane(&self) -> Readings {
        Readings::new()
    }

    #[inline]
    fn admit(&self, readings: &mut Readings, key: &str, now_ns: u64) -> bool {
        let now = Timestamp::from_nanos(START_NS + now_ns);
        let mut plan = ChargePlan::new(self.hasher.of_name(key.as_bytes()), now, Mode::Charge, SlotId(0));
        plan.add(Charge {
            limit: &self.rate.0,
            id: self.rate.1,
            sharer: Sharer::key(NonZeroU32::MIN),
            cost: Amount::ONE,
            period: None,
            due: Due::Admission,
        });
        plan.add(Charge {
            limit: &self.quota.0,
            id: self.quota.1,
            sharer: Sharer::ALL,
            cost: Amount::ONE,
            period: Some(self.month.period(&self.calendar, now)),
            due: Due::Admission,
        });
        matches!(self.table.settle(&plan, readings), Outcome::Admitted { .. })
    }

    fn bytes_unallocated(&self) -> u64 {
        self.table.mapped_bytes() as u64
    }
}

fn limit(name: &str, axis: Axis, per: Per, rule: Rule) -> Result<Limit> {
    let name = LimitName::new(name).context("a valid name")?;
    Ok(Limit { name, axis, per, rule, excess: Excess::Refuse(RefusalStatus::TooManyRequests), sold: None })
}
