//! The answer to a check, written by hand into one buffer: it is written for every request of a whole fleet.

use sluicegate_core::headers::{Field, Sink, push_number};
use sluicegate_engine::problem::write_text;
use sluicegate_engine::{Answer, Decision, ErrorCode, HandedPermit};

/// What a usual answer needs: two limits and all families of headers.
pub(in crate::decision) const CAPACITY: usize = 1_280;

/// Writes the answer.
pub(in crate::decision) fn write(out: &mut String, decision: &Decision, permit: Option<&HandedPermit>) {
    let denial = match &decision.answer {
        Answer::Admitted => {
            out.push_str("{\"allowed\":true,\"status\":200,\"error\":null,\"decision_id\":\"");
            None
        }
        Answer::Denied(denial) => {
            out.push_str("{\"allowed\":false,\"status\":");
            push_number(out, u64::from(denial.status));
            out.push_str(",\"error\":\"");
            out.push_str(denial.error.as_str());
            out.push_str("\",\"decision_id\":\"");
            Some(denial)
        }
    };
    out.push_str(&decision.id.text());
    out.push_str("\",\"tier\":");
    write_or_null(out, decision.tier());
    out.push_str(",\"account\":");
    write_or_null(out, decision.account.as_ref().map(|account| account.id.as_str()));
    out.push_str(",\"retry_after_ms\":");
    push_number(out, denial.map_or(0, |denial| denial.retry_after.as_millis_ceil()));
    if let Some(limit) = denial.and_then(|denial| denial.limit.as_ref()) {
        // A limit's name needs no escaping.
        out.push_str(",\"limit\":\"");
        out.push_str(limit.as_str());
        out.push('"');
    }
    write_limits(out, decision);
    match permit {
        None => out.push_str(",\"permit\":null"),
        Some(permit) => {
            out.push(',');
            write_permit(out, permit);
        }
    }
    out.push_str(",\"mode\":\"");
    out.push_str(decision.mode.as_str());
    out.push('"');
    write_standing(out, decision);
    out.push_str(",\"headers\":{");
    let asks_for_key = denial.is_some_and(|denial| denial.error == ErrorCode::MissingKey);
    write_headers(out, decision, asks_for_key);
    out.push_str("}}");
}

/// Writes a permit and how long it lives, as two members.
pub(in crate::decision) fn write_permit(out: &mut String, permit: &HandedPermit) {
    // Its text needs no escaping.
    out.push_str("\"permit\":\"");
    out.push_str(&permit.text);
    out.push_str("\",\"permit_expires_ms\":");
    push_number(out, permit.lives.as_millis_ceil());
}

/// Only what is out of the ordinary: nearly everybody stands well.
fn write_standing(out: &mut String, decision: &Decision) {
    if decision.standing.squeezed {
        out.push_str(",\"squeezed\":true");
    }
    if let Some(reputation) = decision.standing.reputation {
        out.push_str(",\"reputation\":\"");
        out.push_str(reputation.as_str());
        out.push('"');
    }
}

fn write_limits(out: &mut String, decision: &Decision) {
    out.push_str(",\"limits\":[");
    for (index, limit) in decision.limits.iter().enumerate() {
        // A limit's name needs no escaping.
        out.push_str(if index == 0 { "{\"name\":\"" } else { ",{\"name\":\"" });
        out.push_str(limit.name.as_str());
        out.push_str("\",\"limit\":");
        push_number(out, limit.limit);
        out.push_str(",\"remaining\":");
        push_number(out, limit.remaining);
        out.push_str(",\"reset_ms\":");
        push_number(out, limit.reset.as_millis_ceil());
        out.push('}');
    }
    out.push(']');
}

/// The members of an object.
struct Members<'o> {
    out: &'o mut String,
    separator: &'static str,
}

impl Sink for Members<'_> {
    const QUOTE: &'static str = "\\\"";

    #[inline]
    fn line(&mut self, field: Field, write: impl FnOnce(&mut String)) {
        self.out.push_str(self.separator);
        self.separator = ",";
        self.out.push_str(MEMBERS[field as usize]);
        write(self.out);
        self.out.push('"');
    }
}

macro_rules! members {
    ($($name:literal),* $(,)?) => { [$(concat!("\"", $name, "\":\"")),*] };
}

/// The beginning of each field as a member, in the order of their numbers.
const MEMBERS: [&str; Field::ALL.len()] = members![
    "RateLimit-Policy",
    "RateLimit",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Quota-Limit",
    "X-Quota-Used",
    "X-Quota-Remaining",
    "X-Quota-Reset",
    "X-Quota-Overage",
    "Retry-After",
    "X-Sluicegate-Mode",
];

fn write_headers(out: &mut String, decision: &Decision, asks_for_key: bool) {
    let mut members = Members { out, separator: "" };
    decision.write_headers(&mut members);
    if asks_for_key {
        let separator = members.separator;
        out.push_str(separator);
        out.push_str("\"WWW-Authenticate\":\"Bearer\"");
    }
}

fn write_or_null(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => write_text(out, text),
        None => out.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_begins_with_its_own_name() {
        for field in Field::ALL {
            assert_eq!(MEMBERS[field as usize], format!("\"{}\":\"", field.name()));
        }
    }
}
