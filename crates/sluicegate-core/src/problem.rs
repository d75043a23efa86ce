//! Denials as RFC 9457 problem documents: the one shape in which every front end says no.

use std::fmt::Write as _;

use crate::answer::ErrorCode;

/// The media type of the documents.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// What the type of a problem starts with.
const TYPE_PREFIX: &str = "urn:sluicegate:error:";

/// A denial, as its document tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Denied<'a> {
    /// Why.
    pub error: ErrorCode,
    /// The status it is answered with.
    pub status: u16,
    /// The caller's tier, if the caller is known.
    pub tier: Option<&'a str>,
    /// The limit that refuses, if one does.
    pub limit: Option<&'a str>,
    /// After how long it would be admitted, where waiting helps.
    pub retry_after_ms: u64,
    /// The id of the decision, if one was made.
    pub decision_id: Option<&'a str>,
}

/// The document for a denied decision.
pub fn denied(denied: &Denied<'_>) -> String {
    denied_because(denied, &detail(denied.error, denied.limit))
}

/// The document for a denied decision, with this sentence instead of the one of its error.
pub fn denied_because(denied: &Denied<'_>, detail: &str) -> String {
    let error = denied.error;
    let mut document = head(error.as_str(), error.title(), denied.status, detail);
    member(&mut document, "tier", denied.tier);
    member(&mut document, "limit", denied.limit);
    let _ = write!(document, ",\"retry_after_ms\":{}", denied.retry_after_ms);
    member(&mut document, "decision_id", denied.decision_id);
    document.push('}');
    document
}

/// The document for something that went wrong before or beside a decision.
pub fn plain(error: &str, title: &str, status: u16, detail: &str) -> String {
    let mut document = head(error, title, status, detail);
    document.push('}');
    document
}

/// The document for a request that was answered without a decision, or after one that had nothing to do with it.
pub fn undecided(error: &str, title: &str, status: u16, detail: &str) -> String {
    let mut document = head(error, title, status, detail);
    document.push_str(",\"tier\":null,\"limit\":null,\"retry_after_ms\":0,\"decision_id\":null}");
    document
}

/// The document for something that is wrong with one field of a request.
pub fn of_field(error: &str, title: &str, status: u16, field: &str, detail: &str) -> String {
    let mut document = head(error, title, status, detail);
    member(&mut document, "field", Some(field));
    document.push('}');
    document
}

/// The `detail` of a denial: what to do about it, and the limit that refuses where that matters.
pub fn detail(error: ErrorCode, limit: Option<&str>) -> String {
    match (limit, error) {
        (
            Some(limit),
            ErrorCode::RateLimited | ErrorCode::ConcurrencyLimited | ErrorCode::CostExceedsLimit,
        ) => {
            format!("Limit \"{limit}\": {}", error.detail())
        }
        _ => error.detail().to_owned(),
    }
}

fn head(error: &str, title: &str, status: u16, detail: &str) -> String {
    let mut document = String::with_capacity(320);
    let _ = write!(document, "{{\"type\":\"{TYPE_PREFIX}{error}\"");
    member(&mut document, "title", Some(title));
    let _ = write!(document, ",\"status\":{status}");
    member(&mut document, "detail", Some(detail));
    member(&mut document, "error", Some(error));
    document
}

fn member(document: &mut String, name: &str, value: Option<&str>) {
    let _ = write!(document, ",\"{name}\":");
    match value {
        Some(value) => write_text(document, value),
        None => document.push_str("null"),
    }
}

/// A JSON string. Most need no escaping and are copied as they are.
pub fn write_text(document: &mut String, text: &str) {
    document.push('"');
    // No early end: so many bytes are looked at in one instruction.
    if text.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
        write_escaped(document, text);
    } else {
        document.push_str(text);
    }
    document.push('"');
}

const fn needs_escape(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn write_escaped(document: &mut String, text: &str) {
    let mut copied = 0;
    // What needs escaping is ASCII, so that the text may be cut before and after each.
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| needs_escape(*byte)) {
        document.push_str(&text[copied..at]);
        copied = at + 1;
        if byte < b' ' {
            let _ = write!(document, "\\u{byte:04x}");
        } else {
            document.push('\\');
            document.push(char::from(byte));
        }
    }
    document.push_str(&text[copied..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_where_json_needs_it() {
        let mut document = String::new();
        write_text(&mut document, "a\"b\\c\nd\u{1}é");
        assert_eq!(document, r#""a\"b\\c\u000ad\u0001é""#);
    }
}
