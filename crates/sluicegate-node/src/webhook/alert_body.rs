//! An alert as JSON: what the webhook sends, and what the admin API lists.

use serde::Serialize;
use sluicegate_store::alerts::{AlertKind, News, RateCaller};

use crate::instant;

/// One alert.
#[derive(Serialize, Default, Debug)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Alert))]
pub struct AlertBody {
    /// Its id: no other alert has it.
    #[cfg_attr(feature = "schema", schema(example = "alr_01k8zv4qe0h3n8d5rj2m7w9xab"))]
    id: String,
    /// What happened: `caller.rate`, `refusals.share`, `address.refusals`, `store.degraded`, `reload.rejected`,
    /// `ledger.drift`, `clock.implausible`, `quota.threshold` or `quota.overage`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schema(example = "quota.threshold"))]
    kind: &'static str,
    /// Whether it goes on: `firing` or `resolved`; `noted` where there is nothing that could end.
    #[cfg_attr(feature = "schema", schema(example = "noted"))]
    state: &'static str,
    /// A sentence for people.
    #[cfg_attr(feature = "schema", schema(example = "acme has used 80 % of its quota."))]
    title: String,
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = "acme"))]
    account: Option<String>,
    /// The caller without a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(nullable = false, example = "cl_0123456789abcdef0123456789abcdef")
    )]
    client: Option<String>,
    /// The limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = "quota"))]
    limit: Option<String>,
    /// The key whose own limit it is; absent where the keys of the account share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(nullable = false, pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")
    )]
    key: Option<String>,
    /// At least so much of it is used: 50, 80, 90 or 100; for overage 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 80))]
    percent: Option<u8>,
    /// What was used; of a rate, in the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 40_210))]
    used: Option<u64>,
    /// Of how much; of a rate, what it admits in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 50_000))]
    limit_amount: Option<u64>,
    /// When the period of a quota ends; null where its window slides. Only for quotas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, format = DateTime, example = "2026-12-01T00:00:00.000Z")
    )]
    period_end: Option<Option<String>>,
    /// How many requests were refused within a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 6))]
    refused: Option<u64>,
    /// Of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 100))]
    requests: Option<u64>,
    /// What stands for the address: a keyed hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = "8796a5b4c3d2e1f0"))]
    address: Option<String>,
    /// How often it was refused within an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 1_001))]
    refusals: Option<u64>,
    /// The node that it is about, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = "00c0ffee00c0ffee"))]
    node: Option<String>,
    /// How many problems the policy file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 1))]
    problems: Option<u64>,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(nullable = false, example = "policy.yaml:3:9: the tier \"pro\" is not defined")
    )]
    first_problem: Option<String>,
    /// How many meters differ from the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 1))]
    quotas: Option<u64>,
    /// By how much.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 12))]
    units: Option<u64>,
    /// The clock that leapt ahead: `system` or `store`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false, example = "system"))]
    clock: Option<&'static str>,
    /// By how many seconds it is ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, example = 315_360_000))]
    ahead_s: Option<u64>,
    /// When it was noticed.
    #[cfg_attr(feature = "schema", schema(format = DateTime, example = "2026-11-01T12:00:00.000Z"))]
    at: String,
    /// When it was over; null while it goes on, and where there is nothing that could end.
    #[cfg_attr(feature = "schema", schema(required, format = DateTime, example = json!(null)))]
    resolved_at: Option<String>,
}

impl From<News> for AlertBody {
    fn from(news: News) -> Self {
        let common = Self {
            kind: news.kind.as_str(),
            state: news.state().as_str(),
            title: news.title(),
            at: instant::text(news.at),
            resolved_at: news.resolved_at.map(instant::text),
            id: news.id,
            ..Self::default()
        };
        let (percent, quota) = match news.kind {
            AlertKind::QuotaThreshold { percent, quota } => (percent, quota),
            AlertKind::QuotaOverage(quota) => (100, quota),
            other => return common.with(other),
        };
        Self {
            account: Some(quota.account),
            limit: Some(quota.limit),
            key: quota.key,
            percent: Some(percent),
            used: Some(quota.used),
            limit_amount: Some(quota.amount),
            period_end: Some(quota.period_end.map(instant::text)),
            ..common
        }
    }
}

impl AlertBody {
    /// With what there is to say of something that ends.
    fn with(self, kind: AlertKind) -> Self {
        match kind {
            AlertKind::QuotaThreshold { .. } | AlertKind::QuotaOverage(_) => self,
            AlertKind::CallerRate(rate) => {
                let (account, key, client) = match rate.caller {
                    RateCaller::Account { id, key } => (Some(id), key, None),
                    RateCaller::Client(id) => (None, None, Some(id)),
                };
                let (used, limit_amount) = (Some(rate.used), Some(rate.per_minute));
                Self { account, key, client, limit: Some(rate.limit), used, limit_amount, ..self }
            }
            AlertKind::RefusalsShare { refused, requests } => {
                Self { refused: Some(refused), requests: Some(requests), ..self }
            }
            AlertKind::AddressRefusals { address, refusals } => {
                Self { address: Some(format!("{address:016x}")), refusals: Some(refusals), ..self }
            }
            AlertKind::StoreDegraded { node } => Self { node: Some(node), ..self },
            AlertKind::ReloadRejected { node, problems, first } => {
                Self { node, problems: Some(problems), first_problem: Some(first), ..self }
            }
            AlertKind::LedgerDrift { quotas, units } => {
                Self { quotas: Some(quotas), units: Some(units), ..self }
            }
            AlertKind::ClockImplausible { node, clock, ahead_s } => {
                Self { node, clock: Some(clock.as_str()), ahead_s: Some(ahead_s), ..self }
            }
            AlertKind::SignInsRefused { node, refused } => Self { node, refused: Some(refused), ..self },
        }
    }
}
