//! Alerts as they are kept: JSON with short names, for programs of this version and later ones.

use serde_json::{Map, Value, json};
use tollgate_core::time::Timestamp;

use super::{AlertKind, News, QuotaUse};

/// The text of an alert.
pub(crate) fn write(news: &News) -> String {
    let mut body = Map::new();
    body.insert("id".to_owned(), json!(news.id));
    body.insert("at".to_owned(), json!(news.at.as_nanos()));
    body.insert("kind".to_owned(), json!(news.kind.as_str()));
    let quota = match &news.kind {
        AlertKind::QuotaThreshold { percent, quota } => {
            body.insert("percent".to_owned(), json!(percent));
            quota
        }
        AlertKind::QuotaOverage(quota) => quota,
    };
    body.insert("account".to_owned(), json!(quota.account));
    body.insert("limit".to_owned(), json!(quota.limit));
    body.insert("key".to_owned(), json!(quota.key));
    body.insert("used".to_owned(), json!(quota.used));
    body.insert("amount".to_owned(), json!(quota.amount));
    body.insert("period_end".to_owned(), json!(quota.period_end.map(Timestamp::as_nanos)));
    Value::Object(body).to_string()
}

/// The alert that has this text; nothing if none has.
pub(crate) fn read(text: &str) -> Option<News> {
    let body: Value = serde_json::from_str(text).ok()?;
    let word = |name: &str| body.get(name)?.as_str().map(str::to_owned);
    let number = |name: &str| body.get(name)?.as_u64();
    let quota = QuotaUse {
        account: word("account")?,
        limit: word("limit")?,
        key: word("key"),
        used: number("used")?,
        amount: number("amount")?,
        period_end: number("period_end").map(Timestamp::from_nanos),
    };
    let kind = match word("kind")?.as_str() {
        "quota.threshold" => {
            AlertKind::QuotaThreshold { percent: u8::try_from(number("percent")?).ok()?, quota }
        }
        "quota.overage" => AlertKind::QuotaOverage(quota),
        _ => return None,
    };
    Some(News { id: word("id")?, at: Timestamp::from_nanos(number("at")?), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let quota = QuotaUse {
            account: "acme".to_owned(),
            limit: "quota".to_owned(),
            key: Some("4fVZ8pQ2mX0c".to_owned()),
            used: (1 << 53) - 1,
            amount: 7,
            period_end: Some(Timestamp::from_secs(1_800_000_000)),
        };
        let at = Timestamp::from_nanos(1_791_201_600_123_456_789);
        let endless = QuotaUse { key: None, period_end: None, ..quota.clone() };
        for kind in [AlertKind::QuotaThreshold { percent: 80, quota }, AlertKind::QuotaOverage(endless)] {
            let news = News { id: "alr_1".to_owned(), at, kind };
            assert_eq!(read(&write(&news)), Some(news));
        }
    }

    #[test]
    fn what_nobody_wrote_is_not_read() {
        for text in ["", "{}", "[]", r#"{"kind":"quota.threshold"}"#] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
