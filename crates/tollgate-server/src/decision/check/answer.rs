//! The answer to a check, written by hand into one buffer: it is written for every request of a whole fleet.

use std::fmt::Write as _;

use tollgate_engine::problem::write_text;
use tollgate_engine::{Answer, Decision, ErrorCode, PermitId};

/// What a usual answer needs: two limits and all families of headers.
pub(in crate::decision) const CAPACITY: usize = 1_280;

/// Writes the answer.
pub(in crate::decision) fn write(out: &mut String, decision: &Decision, permit: Option<PermitId>) {
    let denial = match &decision.answer {
        Answer::Admitted => {
            out.push_str("{\"allowed\":true,\"status\":200,\"error\":null,\"decision_id\":\"");
            None
        }
        Answer::Denied(denial) => {
            out.push_str("{\"allowed\":false,\"status\":");
            write_number(out, u64::from(denial.status));
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
    write_number(out, denial.map_or(0, |denial| denial.retry_after.as_millis_ceil()));
    write_limits(out, decision);
    match permit {
        None => out.push_str(",\"permit\":null"),
        Some(permit) => drop(write!(out, ",\"permit\":\"{permit}\"")),
    }
    out.push_str(",\"mode\":\"normal\",\"headers\":{");
    write_headers(out, decision);
    if denial.is_some_and(|denial| denial.error == ErrorCode::MissingKey) {
        separate(out);
        out.push_str("\"WWW-Authenticate\":\"Bearer\"");
    }
    out.push_str("}}");
}

fn write_limits(out: &mut String, decision: &Decision) {
    out.push_str(",\"limits\":[");
    for limit in &decision.limits {
        separate(out);
        // A limit's name needs no escaping.
        out.push_str("{\"name\":\"");
        out.push_str(limit.name.as_str());
        out.push_str("\",\"limit\":");
        write_number(out, limit.limit);
        out.push_str(",\"remaining\":");
        write_number(out, limit.remaining);
        out.push_str(",\"reset_ms\":");
        write_number(out, limit.reset.as_millis_ceil());
        out.push('}');
    }
    out.push(']');
}

fn write_headers(out: &mut String, decision: &Decision) {
    for (field, value) in decision.headers.iter() {
        separate(out);
        out.push('"');
        out.push_str(field.name());
        out.push_str("\":");
        write_text(out, value);
    }
}

/// A comma, unless this is the first in its brackets.
fn separate(out: &mut String) {
    if !out.ends_with(['[', '{']) {
        out.push(',');
    }
}

fn write_or_null(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => write_text(out, text),
        None => out.push_str("null"),
    }
}

/// The most digits of a number.
const DIGITS_MAX: usize = 20;

/// A number in decimal. The standard formatter takes several times as long.
pub(in crate::decision) fn write_number(out: &mut String, mut number: u64) {
    let mut digits = [b'0'; DIGITS_MAX];
    let mut start = DIGITS_MAX;
    loop {
        start -= 1;
        let digit = (number % 10) as u8;
        digits[start] = b'0' + digit;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.push_str(str::from_utf8(&digits[start..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_formatter_writes_them() {
        for number in [0, 7, 10, 99, 100, 9_007_199_254_740_991, u64::MAX] {
            let mut out = String::new();
            write_number(&mut out, number);
            assert_eq!(out, number.to_string());
        }
    }
}
