//! The limits of an account: a rate and a monthly quota, so generous that nobody reaches them.

use std::num::NonZeroU32;

use anyhow::{Context as _, Result, anyhow};
use tollgate_core::book::LimitId;
use tollgate_core::calendar::{Calendar, CalendarUnit, PeriodMemo};
use tollgate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use tollgate_core::plan::{Charge, ChargePlan, HomeId, Mode, Sharer};
use tollgate_core::rule::concurrency::SlotId;
use tollgate_core::rule::{Amount, Rule, TokenBucket};
use tollgate_core::time::{Timestamp, Window};
use tollgate_store::meters::MeterTable;

const PER_SECOND: u64 = 1_000_000;
const QUOTA: u64 = 1_000_000_000_000;

pub(super) struct Limits {
    rate: (Limit, LimitId),
    quota: (Limit, LimitId),
    calendar: Calendar,
    month: PeriodMemo,
}

impl Limits {
    pub(super) fn generous() -> Result<Self> {
        let bucket = TokenBucket::new(PER_SECOND, Window::SECOND, PER_SECOND);
        let bucket = bucket.map_err(|bad| anyhow!("no token bucket: {bad:?}"))?;
        let rate = limit(LimitName::RATE, Axis::Rate, Per::Key, Rule::TokenBucket(bucket))?;
        let calendar = Calendar::utc(CalendarUnit::Month);
        let most = Amount::new(QUOTA).context("an amount")?;
        let month = Rule::Calendar { limit: most, calendar: calendar.clone() };
        let quota = limit(LimitName::QUOTA, Axis::Quota, Per::Account, month)?;
        // The numbers are those of a table, which is then not needed any more.
        let table = MeterTable::new();
        let (rate_id, quota_id) = (table.enter(&rate), table.enter(&quota));
        Ok(Self { rate: (rate, rate_id), quota: (quota, quota_id), calendar, month: PeriodMemo::default() })
    }

    /// What one request owes.
    pub(super) fn plan(&self, home: HomeId, now: Timestamp) -> ChargePlan<'_> {
        let mut plan = ChargePlan::new(home, now, Mode::Charge, SlotId(0));
        let cost = Amount::ONE;
        let sharer = Sharer::key(NonZeroU32::MIN);
        plan.add(Charge { limit: &self.rate.0, id: self.rate.1, sharer, cost, period: None });
        let period = Some(self.month.period(&self.calendar, now));
        plan.add(Charge { limit: &self.quota.0, id: self.quota.1, sharer: Sharer::ALL, cost, period });
        plan
    }
}

fn limit(name: &str, axis: Axis, per: Per, rule: Rule) -> Result<Limit> {
    let name = LimitName::new(name).context("a valid name")?;
    Ok(Limit { name, axis, per, rule, excess: Excess::Refuse(RefusalStatus::TooManyRequests) })
}
