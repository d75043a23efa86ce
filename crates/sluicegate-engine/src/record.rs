//! What an admitted request leaves in the ledger.

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{BilledPrint, Kind, Record, Settlement, Unit};

use crate::permit::Permit;

/// A record of something that happened to what `permit` was given for.
pub(crate) fn record(
    permit: &Permit,
    kind: Kind,
    cost: Option<Amount>,
    overage: u64,
    at: Timestamp,
) -> Record {
    Record {
        kind,
        at,
        charged_at: permit.charged_at,
        decision: permit.decision.0,
        home: permit.home,
        account: permit.account,
        key: permit.key,
        key_number: permit.key_number.and_then(KeyEnv::untag).map_or(0, std::num::NonZeroU32::get),
        route: permit.route_number,
        tier: permit.tier,
        env: permit.key_number.map_or(KeyEnv::Live, KeyEnv::of_tagged),
        unit: Unit::Requests,
        cost: cost.map_or(0, Amount::get),
        overage,
        idempotency: permit.name.map(|name| name.idempotency),
        flags: permit.flags,
        settlement: Settlement::default(),
        billed: billed_print(&permit.plan),
    }
}

/// What tells the billed quota of a plan from others, as far as the baseline of its overage depends on it.
pub(crate) fn billed_print(plan: &Plan) -> BilledPrint {
    let billed = plan.tariff.limits().find_map(|limit| Some((limit.included()?, &limit.rule)));
    match billed {
        None => BilledPrint::NOTHING,
        Some((included, Rule::FixedWindow(rule))) => BilledPrint::of(included.get(), rule.window.as_nanos()),
        Some((included, _)) => BilledPrint::of(included.get(), 0),
    }
}
