//! What `responses`, `ledger` and `alerts` mean.

use crate::file::sink::Sink;
use crate::file::typed::{
    AlertsBody, At, DurabilityWord, HeaderFamilyWord, LedgerBody, QuotaResetWord, ResponsesBody, Text,
};
use crate::policy::{Alerts, Durability, ExportTarget, HeaderFamily, LedgerSettings, QuotaReset, Responses};
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

pub(super) fn ledger(body: &LedgerBody, sink: &mut Sink) -> Option<LedgerSettings> {
    let default = LedgerSettings::default();
    let retain = match body.retain.given() {
        None => Some(default.retain),
        Some(at) => {
            let secs =
                u32::try_from(at.value.secs).ok().filter(|secs| *secs <= LedgerSettings::RETAIN_SECS_MAX);
            if secs.is_none() {
                let help = format!("the longest is {}d", LedgerSettings::RETAIN_SECS_MAX / 86_400);
                sink.report(at.place, "this duration is too long", help);
            }
            secs.map(Nanos::from_secs)
        }
    };
    let export = match body.export.given() {
        None => Some(None),
        Some(at) => export_target(at, sink).map(Some),
    };
    Some(LedgerSettings {
        retain: retain?,
        export: export?,
        durability: match body.durability.value() {
            Some(DurabilityWord::Strict) => Durability::Strict,
            Some(DurabilityWord::Normal) => Durability::Normal,
            None => default.durability,
        },
    })
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
