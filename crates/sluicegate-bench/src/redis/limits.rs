//! What an account has bought: a rate and a monthly quota, so generous that nobody reaches them.

use std::num::NonZeroU32;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use sluicegate_core::book::LimitId;
use sluicegate_core::calendar::{Calendar, CalendarUnit};
use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::{Bypass, RefundOn, Tier, TierLimit, TierName};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket};
use sluicegate_core::tariff::{AccountCalendar, Charges, Plan, Request};
use sluicegate_core::time::{Timestamp, Window};

const PER_SECOND: u64 = 1_000_000;
const QUOTA: u64 = 1_000_000_000_000;

pub(super) fn generous() -> Result<Arc<Plan>> {
    let bucket = TokenBucket::new(PER_SECOND, Window::SECOND, PER_SECOND);
    let bucket = bucket.map_err(|bad| anyhow!("no token bucket: {bad:?}"))?;
    let rate = limit(LimitName::RATE, Axis::Rate, Per::Key, Rule::TokenBucket(bucket))?;
    let most = Amount::new(QUOTA).context("an amount")?;
    let month = Rule::Calendar { limit: most, calendar: Calendar::utc(CalendarUnit::Month) };
    let quota = limit(LimitName::QUOTA, Axis::Quota, Per::Account, month)?;
    let tier = Tier {
        name: TierName::new("generous").context("a valid name")?,
        limits: [rate, quota].map(|limit| TierLimit { limit, routes: Vec::new() }).into(),
        priority: 0,
        bypass: Bypass::No,
        refund_on: RefundOn::Nothing,
    };
    // No table of meters in memory is asked, so no limit needs a number in its book.
    Ok(Arc::new(Plan::new(&tier, &AccountCalendar::default(), 1, |_| LimitId::from_number(0))))
}

fn limit(name: &str, axis: Axis, per: Per, rule: Rule) -> Result<Limit> {
    let name = LimitName::new(name).context("a valid name")?;
    Ok(Limit { name, axis, per, rule, excess: Excess::Refuse(RefusalStatus::TooManyRequests), sold: None })
}

/// One request of an account.
pub(super) fn request(home: HomeId, now: Timestamp) -> Request {
    Request {
        home,
        key: Some(NonZeroU32::MIN),
        route: None,
        cost: Amount::ONE,
        now,
        mode: Mode::Charge,
        which: Charges::All,
        slot: SlotId(0),
    }
}
