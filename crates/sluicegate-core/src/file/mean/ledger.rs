//! What `responses`, `ledger` and `alerts` mean.

use crate::file::sink::Sink;
use crate::file::typed::{
    AlertsBody, At, DurabilityWord, Field, HeaderFamilyWord, LedgerBody, QuotaResetWord, ResponsesBody, Span,
    Text,
};
use crate::policy::{
    Alerts, Durability, ExportTarget, HeaderFamily, LedgerSettings, QuotaReset, Responses, Tiers,
};
use crate::time::Nanos;

pub(super) fn responses(body: &ResponsesBody, sink: &mut Sink) -> Responses {
    let default = Responses::default();
    let headers = match body.headers.value() {
        None => default.headers,
        Some(list) => {
            let mut families: Vec<HeaderFamily> = Vec::new();
            for at in &list.0 {
                let family = family(at.value);
                if families.contains(&family) {
                    sink.report(at.place, "this family stands here twice", "remove one of the two");
                } else {
                    families.push(family);
                }
            }
            families
        }
    };
    Responses {
        headers,
        quota_reset: match body.quota_reset.value() {
            Some(QuotaResetWord::UnixSeconds) => QuotaReset::UnixSeconds,
            Some(QuotaResetWord::HttpDate) => QuotaReset::HttpDate,
            None => default.quota_reset,
        },
    }
}

fn family(word: HeaderFamilyWord) -> HeaderFamily {
    match word {
        HeaderFamilyWord::Ietf => HeaderFamily::Ietf,
        HeaderFamilyWord::RateLimit => HeaderFamily::RateLimit,
        HeaderFamilyWord::XRateLimit => HeaderFamily::XRateLimit,
        HeaderFamilyWord::XQuota => HeaderFamily::XQuota,
    }
}

/// The quotas of the tiers say how long records are needed.
pub(super) fn ledger(
    field: &Field<LedgerBody>,
    tiers: Option<&Tiers>,
    sink: &mut Sink,
) -> Option<LedgerSettings> {
    let default = LedgerSettings::default();
    let needed = tiers.map_or(Nanos::ZERO, raw_needed);
    let raw = default.raw.max(needed);
    let usual = LedgerSettings { raw, retain: default.retain.max(raw), ..default };
    match field {
        Field::Absent => Some(usual),
        Field::Wrong => None,
        Field::Given(at) => given(&at.value, needed, &usual, sink),
    }
}

fn given(
    body: &LedgerBody,
    needed: Nanos,
    usual: &LedgerSettings,
    sink: &mut Sink,
) -> Option<LedgerSettings> {
    let mut raw = kept_for(&body.raw, usual.raw, sink);
    let mut retain = kept_for(&body.retain, usual.retain.max(raw.unwrap_or(usual.raw)), sink);
    if let (Some(at), Some(kept)) = (body.raw.given(), raw)
        && kept < needed
    {
        let message = "records must be kept for the longest quota window and 3 days: meters are counted again from \
                       them";
        sink.report(at.place, message, format!("write at least {}", shortest(needed)));
        raw = None;
    }
    if let (Some(kept), Some(records)) = (retain, raw)
        && kept < records
        && let Some(at) = body.retain.given()
    {
        let message = "roll-ups must be kept for at least as long as single records (`raw`)";
        sink.report(at.place, message, format!("write at least `retain: {}`", shortest(records)));
        retain = None;
    }
    let export = match body.export.given() {
        None => Some(None),
        Some(at) => export_target(at, sink).map(Some),
    };
    Some(LedgerSettings {
        retain: retain?,
        raw: raw?,
        export: export?,
        durability: match body.durability.value() {
            Some(DurabilityWord::Strict) => Durability::Strict,
            Some(DurabilityWord::Normal) => Durability::Normal,
            None => usual.durability,
        },
    })
}

/// A duration that was typed, or the default.
fn kept_for(field: &Field<Span>, default: Nanos, sink: &mut Sink) -> Option<Nanos> {
    let Some(at) = field.given() else { return Some(default) };
    let secs = u32::try_from(at.value.secs).ok().filter(|secs| *secs <= LedgerSettings::RETAIN_SECS_MAX);
    if secs.is_none() {
        let help = format!("the longest is {}d", LedgerSettings::RETAIN_SECS_MAX / 86_400);
        sink.report(at.place, "this duration is too long", help);
    }
    secs.map(Nanos::from_secs)
}

/// For how long the quotas of the tiers need single records.
fn raw_needed(tiers: &Tiers) -> Nanos {
    LedgerSettings::raw_needed(tiers.iter().flat_map(|tier| &tier.limits).map(|entry| &entry.limit))
}

/// A duration as files have it, in whole days or hours.
fn shortest(duration: Nanos) -> String {
    let hours = duration.0.div_ceil(3_600_000_000_000);
    if hours.is_multiple_of(24) { format!("{}d", hours / 24) } else { format!("{hours}h") }
}

fn export_target(at: &At<Text>, sink: &mut Sink) -> Option<ExportTarget> {
    let target = ExportTarget::parse(&at.value.0);
    if target.is_none() {
        let help = "write file:///absolute/directory or s3://bucket/prefix";
        super::server::report_url(at, "this is no place to export to", help, sink);
    }
    target
}

pub(super) fn alerts(body: &AlertsBody, sink: &mut Sink) -> Option<Alerts> {
    let webhook = match body.webhook.given() {
        None => Some(None),
        Some(at) => super::server::http_url(at, "https://alerts.example/sluicegate", sink).map(Some),
    };
    let secret = match body.secret.given() {
        None => Some(None),
        Some(at) => super::identity::secret_source(at, sink).map(Some),
    };
    Some(Alerts { webhook: webhook?, secret: secret? })
}
