//! Alerts as they are kept: JSON with short names, for programs of this version and later ones.

use serde_json::{Map, Value, json};
use sluicegate_core::time::Timestamp;

use super::{AlertClock, AlertKind, News, QuotaUse, RateCaller, RateUse};

/// The text of an alert.
pub(crate) fn write(news: &News) -> String {
    let mut body = json!({"id": news.id, "at": news.at.as_nanos(), "kind": news.kind.as_str()});
    if let Some(at) = news.resolved_at {
        body["resolved_at"] = json!(at.as_nanos());
    }
    let more = match &news.kind {
        AlertKind::QuotaThreshold { percent, quota } => {
            body["percent"] = json!(percent);
            quota_fields(quota)
        }
        AlertKind::QuotaOverage(quota) => quota_fields(quota),
        AlertKind::CallerRate(rate) => rate_fields(rate),
        AlertKind::RefusalsShare { refused, requests } => json!({"refused": refused, "requests": requests}),
        AlertKind::AddressRefusals { address, refusals } => {
            json!({"address": format!("{address:016x}"), "refusals": refusals})
        }
        AlertKind::StoreDegraded { node } => json!({"node": node}),
        AlertKind::ReloadRejected { node, problems, first } => {
            json!({"node": node, "problems": problems, "first": first})
        }
        AlertKind::LedgerDrift { quotas, units } => json!({"quotas": quotas, "units": units}),
        AlertKind::ClockImplausible { node, clock, ahead_s } => {
            json!({"node": node, "clock": clock.as_str(), "ahead_s": ahead_s})
        }
        AlertKind::SignInsRefused { node, refused } => json!({"node": node, "refused": refused}),
    };
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    body.to_string()
}

fn quota_fields(quota: &QuotaUse) -> Value {
    json!({
        "account": quota.account,
        "limit": quota.limit,
        "key": quota.key,
        "used": quota.used,
        "amount": quota.amount,
        "period_end": quota.period_end.map(Timestamp::as_nanos),
    })
}

fn rate_fields(rate: &RateUse) -> Value {
    let mut fields = json!({"limit": rate.limit, "used": rate.used, "amount": rate.per_minute});
    match &rate.caller {
        RateCaller::Account { id, key } => {
            fields["account"] = json!(id);
            fields["key"] = json!(key);
        }
        RateCaller::Client(id) => fields["client"] = json!(id),
    }
    fields
}

/// The alert that has this text; nothing if none has.
pub(crate) fn read(text: &str) -> Option<News> {
    let Value::Object(body) = serde_json::from_str(text).ok()? else { return None };
    let fields = Fields(&body);
    let kind = match fields.word("kind")?.as_str() {
        "quota.threshold" => AlertKind::QuotaThreshold {
            percent: u8::try_from(fields.number("percent")?).ok()?,
            quota: fields.quota()?,
        },
        "quota.overage" => AlertKind::QuotaOverage(fields.quota()?),
        "caller.rate" => AlertKind::CallerRate(fields.rate()?),
        "refusals.share" => AlertKind::RefusalsShare {
            refused: fields.number("refused")?,
            requests: fields.number("requests")?,
        },
        "address.refusals" => AlertKind::AddressRefusals {
            address: u64::from_str_radix(&fields.word("address")?, 16).ok()?,
            refusals: fields.number("refusals")?,
        },
        "store.degraded" => AlertKind::StoreDegraded { node: fields.word("node")? },
        "reload.rejected" => AlertKind::ReloadRejected {
            node: fields.word("node"),
            problems: fields.number("problems")?,
            first: fields.word("first")?,
        },
        "ledger.drift" => {
            AlertKind::LedgerDrift { quotas: fields.number("quotas")?, units: fields.number("units")? }
        }
        "clock.implausible" => AlertKind::ClockImplausible {
            node: fields.word("node"),
            clock: match fields.word("clock")?.as_str() {
                "system" => AlertClock::System,
                "store" => AlertClock::Store,
                _ => return None,
            },
            ahead_s: fields.number("ahead_s")?,
        },
        "signins.refused" => {
            AlertKind::SignInsRefused { node: fields.word("node"), refused: fields.number("refused")? }
        }
        _ => return None,
    };
    Some(News { id: fields.word("id")?, at: fields.at("at")?, resolved_at: fields.at("resolved_at"), kind })
}

struct Fields<'b>(&'b Map<String, Value>);

impl Fields<'_> {
    fn word(&self, name: &str) -> Option<String> {
        self.0.get(name)?.as_str().map(str::to_owned)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    fn at(&self, name: &str) -> Option<Timestamp> {
        self.number(name).map(Timestamp::from_nanos)
    }

    fn quota(&self) -> Option<QuotaUse> {
        Some(QuotaUse {
            account: self.word("account")?,
            limit: self.word("limit")?,
            key: self.word("key"),
            used: self.number("used")?,
            amount: self.number("amount")?,
            period_end: self.at("period_end"),
        })
    }

    fn rate(&self) -> Option<RateUse> {
        let caller = match self.word("client") {
            Some(client) => RateCaller::Client(client),
            None => RateCaller::Account { id: self.word("account")?, key: self.word("key") },
        };
        let (used, per_minute) = (self.number("used")?, self.number("amount")?);
        Some(RateUse { caller, limit: self.word("limit")?, used, per_minute })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_kinds() -> Vec<AlertKind> {
        let quota = QuotaUse {
            account: "acme".to_owned(),
            limit: "quota".to_owned(),
            key: Some("4fVZ8pQ2mX0c".to_owned()),
            used: (1 << 53) - 1,
            amount: 7,
            period_end: Some(Timestamp::from_secs(1_800_000_000)),
        };
        let endless = QuotaUse { key: None, period_end: None, ..quota.clone() };
        let rate = |caller| {
            AlertKind::CallerRate(RateUse { caller, limit: "rate".to_owned(), used: 599, per_minute: 600 })
        };
        let node = Some("00c0ffee00c0ffee".to_owned());
        vec![
            AlertKind::QuotaThreshold { percent: 80, quota },
            AlertKind::QuotaOverage(endless),
            rate(RateCaller::Account { id: "acme".to_owned(), key: Some("4fVZ8pQ2mX0c".to_owned()) }),
            rate(RateCaller::Account { id: "acme".to_owned(), key: None }),
            rate(RateCaller::Client("cl_0123456789abcdef0123456789abcdef".to_owned())),
            AlertKind::RefusalsShare { refused: 6, requests: 100 },
            AlertKind::AddressRefusals { address: 7, refusals: 1_001 },
            AlertKind::StoreDegraded { node: "00c0ffee00c0ffee".to_owned() },
            AlertKind::ReloadRejected { node, problems: 2, first: "policy.yaml:3:9: \"x\"".to_owned() },
            AlertKind::ReloadRejected { node: None, problems: 1, first: String::new() },
            AlertKind::LedgerDrift { quotas: 1, units: 9 },
            AlertKind::ClockImplausible { node: None, clock: AlertClock::System, ahead_s: 315_360_000 },
            AlertKind::ClockImplausible {
                node: Some("00c0ffee00c0ffee".to_owned()),
                clock: AlertClock::Store,
                ahead_s: 7_200,
            },
            AlertKind::SignInsRefused { node: None, refused: 21 },
        ]
    }

    #[test]
    fn what_is_written_is_read_again() {
        let at = Timestamp::from_nanos(1_791_201_600_123_456_789);
        for kind in all_kinds() {
            for resolved_at in [None, Some(Timestamp::from_secs(1_791_201_999))] {
                let news = News { id: "alr_1".to_owned(), at, resolved_at, kind: kind.clone() };
                assert_eq!(read(&write(&news)), Some(news));
            }
        }
    }

    #[test]
    fn every_kind_has_a_sentence_while_it_lasts_and_another_when_it_is_over() {
        let at = Timestamp::from_secs(1_791_201_600);
        for kind in all_kinds() {
            let firing = News { id: "alr_1".to_owned(), at, resolved_at: None, kind };
            let over = News { resolved_at: Some(at), ..firing.clone() };
            assert!(firing.title().ends_with('.') && over.title().ends_with('.'), "{}", firing.title());
            assert_eq!(firing.title() != over.title(), firing.kind.ends(), "{}", over.title());
        }
    }

    #[test]
    fn what_nobody_wrote_is_not_read() {
        for text in ["", "{}", "[]", r#"{"kind":"quota.threshold"}"#, r#"{"id":"a","at":1,"kind":"other"}"#] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
