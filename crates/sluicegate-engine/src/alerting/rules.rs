//! All rules about callers, addresses, traffic and the ledger together, and what they want to be firing.

use std::collections::BTreeMap;

use sluicegate_store::alerts::{Alert, AlertKind};

use super::address_refusals::AddressRefusals;
use super::caller_rate::{CallerRate, RateMeter};
use super::counts::Observed;
use super::drift::{Drift, Found};
use super::refusals_share::RefusalsShare;

const SHARE: &str = "refusals.share";
const DRIFT: &str = "ledger.drift";

/// The rules.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) share: RefusalsShare,
    pub(super) callers: CallerRate,
    pub(super) addresses: AddressRefusals,
    pub(super) drift: Drift,
}

/// Something that should be firing, as far as it is known what to say of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// All is known.
    Kind(AlertKind),
    /// A caller by its numbers, which people have names for.
    Caller(RateMeter, u64),
    /// It fires since before this process: all was said then.
    Before,
}

impl Rules {
    /// The rules, going on with what is firing already.
    pub(super) fn restored(firing: &[(String, Alert)]) -> Self {
        let mut rules = Self::default();
        for (subject, alert) in firing {
            match &alert.news.kind {
                AlertKind::CallerRate(_) => rules.callers.restore(subject.clone()),
                AlertKind::RefusalsShare { .. } => rules.share = RefusalsShare::restored(),
                AlertKind::AddressRefusals { address, refusals } => {
                    rules.addresses.restore(*address, *refusals);
                }
                AlertKind::LedgerDrift { .. } => rules.drift = Drift::restored(),
                AlertKind::QuotaThreshold { .. }
                | AlertKind::QuotaOverage(_)
                | AlertKind::StoreDegraded { .. }
                | AlertKind::ReloadRejected { .. }
                | AlertKind::ClockImplausible { .. }
                | AlertKind::SignInsRefused { .. } => {}
            }
        }
        rules
    }

    /// Whether alerts of this subject are theirs.
    pub(super) fn own(subject: &str) -> bool {
        let word = subject.split(' ').next().unwrap_or_default();
        matches!(word, "caller.rate" | "address.refusals" | SHARE | DRIFT)
    }

    /// Everything that should be firing.
    pub(super) fn wanted(&self) -> BTreeMap<String, Wanted> {
        let callers = self.callers.firing().map(|(subject, usage)| {
            let wanted = usage.map_or(Wanted::Before, |(meter, used)| Wanted::Caller(meter.clone(), *used));
            (subject.clone(), wanted)
        });
        let addresses = self.addresses.firing().map(|(address, refusals)| {
            let kind = AlertKind::AddressRefusals { address, refusals };
            (format!("address.refusals {address:016x}"), Wanted::Kind(kind))
        });
        let share = self.share.firing().map(|Observed { admitted, refused }| {
            let kind = AlertKind::RefusalsShare { refused, requests: admitted.saturating_add(refused) };
            (SHARE.to_owned(), Wanted::Kind(kind))
        });
        let drift = self.drift.firing().map(|Found { quotas, units }| {
            (DRIFT.to_owned(), Wanted::Kind(AlertKind::LedgerDrift { quotas, units }))
        });
        callers.chain(addresses).chain(share).chain(drift).collect()
    }
}
